/** Requests of operators to the authorization server of a data folder. */
import type { Launch } from '../../auth/launch/launches.ts'

/** Request to launch an app. `operator`: user name for the audit record. */
export type LaunchRequest = { readonly launch: Launch; readonly operator: string }

/**
 * Request for an access token. `tenant`: absent for all tenants. `operator`: user name for the audit record. Absent if the server itself
 * requests the token.
 */
export type AccessTokenRequest = { readonly isAdministrator: boolean; readonly tenant?: string; readonly operator?: string }
