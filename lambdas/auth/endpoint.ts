/** Contract of the endpoints of the authorization server: request, response and ports. Endpoints know no HTTP library and no store. */
import type { MemberLimits } from '../access/access.ts'
import type { PersonReader } from '../access/user-patients.ts'
import type { VerifiedToken } from '../access/verification/verified-token.ts'
import type { Clock } from '../ports/execution/clock.ts'
import type { Client, Clients, PartnerKind } from '../ports/rows/clients.ts'
import type { Grants } from '../ports/rows/grants.ts'
import type { Revocations } from '../ports/rows/revocations.ts'
import type { User, Users } from '../ports/rows/users.ts'
import type { Seal } from '../ports/security/seal.ts'
import type { PublishedKeys, SigningKeys } from '../ports/security/signing-keys.ts'
import type { ParameterPairs } from '../search/query/parameter-pairs.ts'
import type { KeySource } from './key-source.ts'

export type AuthRequest = {
  /** HTTP method: GET, POST or DELETE. */
  readonly method: string
  /** Path below the base, with decoded segments: `/auth/token`. */
  readonly path: string
  readonly query: ParameterPairs
  readonly form: ParameterPairs
  /** Bytes of the body, at most 64 KiB. `form` contains the parsed body of a form. */
  readonly body: Uint8Array
  /** Header values by name in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** IP address of the client; empty if it is unknown. */
  readonly address: string
  /** Base URL of the server without a trailing slash. It is issuer and audience of access tokens. */
  readonly baseUrl: string
  readonly requestId: string
  /** Adds facts to the audit record. Endpoints call it as soon as a fact is verified. They never add unverified text that a user typed. */
  readonly note: (facts: AuditFacts) => void
}

/**
 * Facts for the audit record.
 * - `tenant`, `client`: these requests carry no access token that names them, so the endpoint adds them.
 * - `outcome`: the result, such as `invalid_client` or `logged in`.
 * - `seenAs`: client whose view an exchanged token gives.
 * - `patients`: patients that a page shows, as `Patient/1`, or as `north/Patient/1` if they belong to several tenants.
 */
export type AuditFacts = {
  readonly tenant?: string
  readonly client?: string
  readonly user?: string
  readonly outcome?: string
  readonly seenAs?: string
  readonly patients?: readonly string[]
}

/** Response of an endpoint. `body`: text in the format that the header `content-type` names. */
export type AuthResponse = { readonly status: number; readonly headers: Readonly<Record<string, string>>; readonly body?: string }

export type Endpoint = (request: AuthRequest) => Promise<AuthResponse>

/** Settings that select the behavior where specifications leave a choice. runtime/config.ts documents each. */
export type AuthChoices = {
  readonly tenancy: boolean
  readonly tenantClaim: string
  readonly pkce: 'off' | 'accept' | 'require'
  readonly organizationName: string
}

/**
 * Properties by which users recognize a patient. `id`: without the resource type. `number`: a business identifier. `tenant`: absent if the
 * server has no tenancy.
 */
export type FoundPatient = {
  readonly id: string
  readonly name: string
  readonly birthDate?: string
  readonly sex?: string
  readonly number?: string
  readonly tenant?: string
}

/**
 * Tenant and patient of a stored Patient or Encounter. `patient`: id of the Patient itself, or of the Encounter's subject; absent if that
 * is not a Patient.
 */
export type FoundRecord = { readonly type: 'Patient' | 'Encounter'; readonly tenant: string; readonly patient?: string }

/** Ports of all endpoints. Each endpoint selects its own with Pick. */
export type AuthPorts = {
  readonly clients: Pick<Clients, 'get'>
  /** Stored clients, for apps that register themselves. */
  readonly registrations: Pick<Clients, 'get' | 'change'>
  readonly users: Pick<Users, 'get'>
  readonly grants: Grants
  readonly revocations: Revocations
  readonly keys: SigningKeys
  readonly clock: Clock
  readonly seal: Seal
  readonly choices: AuthChoices
  /** Fetches the keys of clients that publish them under a URL. */
  readonly keySource: KeySource
  /**
   * Whether the server may fetch keys from the URI: no address of its host is private, or the setting privateHosts lists it. True for a host
   * without an address, because it may get one later. `uri`: an absolute URI.
   */
  readonly mayFetchKeys: (uri: string) => Promise<boolean>
  /**
   * Whether `typed` is the user's password. A check for an unknown user takes as long. Networks take turns, so many attempts from one
   * network do not block the others.
   */
  readonly checkPassword: (typed: string, user: User | undefined, network: string) => Promise<boolean>
  readonly patients: PatientFinder
  readonly patientsOf: PersonReader
  /** Whether the token may read this stored Patient in its tenant. `id`: without the resource type. */
  readonly mayReadPatient: (token: VerifiedToken, id: string) => Promise<boolean>
  readonly partnerMembers: PartnerMembers
  /** Whether a resource of the type alone can decide the condition of a scope, by the search parameters of at least one of the tenants. */
  readonly isDecidable: (tenants: readonly string[], type: string, query: string) => Promise<boolean>
}

/** Ports of endpoints that verify tokens but sign none: they have no access to private keys. */
export type VerifyingPorts = Pick<AuthPorts, 'clock'> & { readonly keys: PublishedKeys }

/**
 * Member for a partner's token. `patient`: id without the resource type. `until`: instant at which the permission ends, in
 * milliseconds since 1970. `limits`: limits of the data.
 */
export type PermittedMember = { readonly patient: string; readonly until: number; readonly limits: MemberLimits }

/** Members in context of the tokens of partners. */
export type PartnerMembers = {
  /**
   * Returns the member, or undefined if the partner did not match it or may not receive its data at this time. `name`: `Patient/1`, or an
   * identifier as `system|value`.
   */
  readonly find: (client: Client, tenant: string, name: string) => Promise<PermittedMember | undefined>
  /** Returns the limits of the data of a member without a judgement of its Consent. For a payer they exclude all sensitive labels. */
  readonly limitsOf: (kind: PartnerKind) => Promise<MemberLimits>
}

/**
 * Finds patients in the given tenants (`*`: any, of which some are searched). `find` and `get` return only patients that the user may see.
 */
export type PatientFinder = {
  /** Returns the first page of each tenant's patients with names that begin with these words, or of all patients without words. */
  readonly find: (user: User, tenants: readonly string[], text: string) => Promise<readonly FoundPatient[]>
  /** Returns a patient by its id without the resource type, or undefined. */
  readonly get: (user: User, tenants: readonly string[], id: string) => Promise<FoundPatient | undefined>
  /**
   * Returns the tenants that have such a resource, one record for each, without a check of the user's access. `id`: without the resource
   * type.
   */
  readonly recordsOf: (tenants: readonly string[], type: FoundRecord['type'], id: string) => Promise<readonly FoundRecord[]>
  /** Whether the store lists the tenant, because it has or had resources. */
  readonly isTenant: (tenant: string) => Promise<boolean>
}

/**
 * Headers of responses that clients may cache for five minutes. A key signs only after it has been published for longer, unless an operator
 * shortens a rotation.
 */
export const CACHEABLE_HEADERS = { 'cache-control': 'public, max-age=300' }
