/** What an endpoint of the authorization server gets and gives: HTTP is already behind it, stores are ports. */
import type { PersonReader } from '../access/user-patients.ts'
import type { Clock } from '../ports/execution/clock.ts'
import type { Clients } from '../ports/rows/clients.ts'
import type { Grants } from '../ports/rows/grants.ts'
import type { Revocations } from '../ports/rows/revocations.ts'
import type { User, Users } from '../ports/rows/users.ts'
import type { Seal } from '../ports/security/seal.ts'
import type { PublishedKeys, SigningKeys } from '../ports/security/signing-keys.ts'
import type { ParameterPairs } from '../search/query/parameter-pairs.ts'
import type { KeySource } from './key-source.ts'

export type AuthRequest = {
  /** GET or POST. */
  readonly method: string
  readonly query: ParameterPairs
  readonly form: ParameterPairs
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** Of the peer; empty where it is not known. */
  readonly address: string
  /** Without a slash at the end: what issues tokens, and what they are for. */
  readonly baseUrl: string
  readonly requestId: string
  /** For the audit record, as soon as it is known; nothing that was only typed. */
  readonly note: (facts: AuditFacts) => void
}

/**
 * Facts for the audit record. `tenant`, `client`: set where no token names them. `outcome`: the result, such as `invalid_client` or `logged in`.
 * `patients`: those that a page shows, as `Patient/1`, or as `north/Patient/1` if they belong to several tenants.
 */
export type AuditFacts = {
  readonly tenant?: string
  readonly client?: string
  readonly user?: string
  readonly outcome?: string
  readonly patients?: readonly string[]
}

/** `body`: as `content-type` says. */
export type AuthResponse = { readonly status: number; readonly headers: Readonly<Record<string, string>>; readonly body?: string }

export type Endpoint = (request: AuthRequest) => Promise<AuthResponse>

/** How this server answers where the specification leaves a choice; runtime/config.ts documents each. */
export type AuthChoices = {
  readonly tenancy: boolean
  readonly tenantClaim: string
  readonly pkce: 'off' | 'accept' | 'require'
  readonly organizationName: string
}

/** Properties by which users recognize a patient. `id`: without its type. `number`: a business identifier. `tenant`: only with tenancy. */
export type FoundPatient = {
  readonly id: string
  readonly name: string
  readonly birthDate?: string
  readonly sex?: string
  readonly number?: string
  readonly tenant?: string
}

/** A patient, or an encounter: in whose record it is. `patient`: its id; absent where an encounter is of nobody. */
export type FoundRecord = { readonly type: 'Patient' | 'Encounter'; readonly tenant: string; readonly patient?: string }

/** What endpoints may need; each names its own with Pick. */
export type AuthPorts = {
  readonly clients: Pick<Clients, 'get'>
  readonly users: Pick<Users, 'get'>
  readonly grants: Grants
  readonly revocations: Revocations
  readonly keys: SigningKeys
  readonly clock: Clock
  readonly seal: Seal
  readonly choices: AuthChoices
  /** Of clients that publish their keys. */
  readonly keySource: KeySource
  /** Whether it is the user's password; as long for a user that is not there. Networks take turns. */
  readonly checkPassword: (typed: string, user: User | undefined, network: string) => Promise<boolean>
  readonly patients: PatientFinder
  readonly patientsOf: PersonReader
  /** Whether the condition of a scope can be decided on a resource of the type alone, in one of these tenants. */
  readonly isDecidable: (tenants: readonly string[], type: string, query: string) => Promise<boolean>
}

/** Of endpoints that verify tokens, and sign none. */
export type VerifyingPorts = Pick<AuthPorts, 'clock'> & { readonly keys: PublishedKeys }

/** Patients a user may see, in these tenants (`*`: any). */
export type PatientFinder = {
  /** Some of those whose names begin with these words; of all, where there are none. */
  readonly find: (user: User, tenants: readonly string[], text: string) => Promise<readonly FoundPatient[]>
  /** `id`: without its type. */
  readonly get: (user: User, tenants: readonly string[], id: string) => Promise<FoundPatient | undefined>
  /** Whoever asks: one for each of these tenants that has such a resource. `id`: without its type. */
  readonly recordsOf: (tenants: readonly string[], type: FoundRecord['type'], id: string) => Promise<readonly FoundRecord[]>
  /** Whether it has, or had, anything. */
  readonly isTenant: (tenant: string) => Promise<boolean>
}

/** A key is published longer than this before it is used. */
export const CACHEABLE_HEADERS = { 'cache-control': 'public, max-age=300' }
