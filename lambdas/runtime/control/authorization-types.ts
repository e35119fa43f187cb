/** Requests of operators to the authorization server of a data folder. */
import type { Launch } from '../../auth/launch/launches.ts'

/** `operator`: for the audit record. */
export type LaunchRequest = { readonly launch: Launch; readonly operator: string }

/** `tenant`: where each has its own. `operator`: who asks; absent: the server itself. */
export type AccessTokenRequest = { readonly isAdministrator: boolean; readonly tenant?: string; readonly operator?: string }
