/**
 * Registered clients of the authorization server. https://www.rfc-editor.org/rfc/rfc6749#section-2
 *
 * Guarantees
 * - `get` and `list` see every change that resolved before, from any process. Of concurrent changes to one client none is lost. A change
 *   that resolved survives a machine failure.
 * - A client may have up to 100 kB of JSON.
 * - `get` accepts any text, and returns undefined for one that cannot be an id.
 */
import type { IdentifierText } from '../../fhir/identifier-text.ts'
import type { Element } from '../../fhir/resource.ts'

export type Client = {
  /** Id in tokens and URLs: `[A-Za-z0-9._-]{1,64}`. */
  readonly id: string
  /** Name of the app that users see on login pages. */
  readonly name: string
  readonly authentication: ClientAuthentication
  /** Scopes that the client may request; see access/scopes.ts. `system/admin` is granted only if it is listed here. */
  readonly scopes: readonly string[]
  /** Redirect URIs: https, loopback or private-use. They are compared as text. */
  readonly redirectUris: readonly string[]
  /** Tenants that the client may request; `*` stands for all. */
  readonly tenants: readonly string[]
  /** Patient in context of tokens that the client gets on its own behalf, as `Patient/1`. */
  readonly patient?: string
  /** Whether the client may introspect tokens of other clients. */
  readonly mayIntrospect: boolean
  /** `strong`: responses to writes of the client wait until searches find them. Absent: the setting `consistency` applies. */
  readonly consistency?: 'eventual' | 'strong'
  /**
   * Registration time in milliseconds since 1970. It distinguishes the client from an earlier one with the same id. Absent for clients that
   * were registered before this field existed.
   */
  readonly registeredAt?: number
  /**
   * Credential generation: a random id that changes with each change that revokes everything issued before. Absent for clients from before
   * this field existed.
   */
  readonly generation?: string
  /** Time of the last change, in milliseconds since 1970. */
  readonly changedAt: number
  /** Organization for which the client is a partner. Absent: the client is no partner. */
  readonly partner?: Partner
  /** Present for an app that an operator invited to register itself. Such a client acts only for users. */
  readonly invited?: Invited
  /** Present for the built-in client of the explorer, which is never stored. Its users see no consent page. */
  readonly isExplorer?: true
}

/** Kind of organization that a partner client belongs to. Each kind may receive other data. */
export type PartnerKind = 'payer' | 'provider'

/**
 * Organization of a partner client. `identifiers`: those by which Consents and Groups name it, such as its NPI. Only an operator sets them.
 */
export type Partner = { readonly kind: PartnerKind; readonly identifiers: readonly IdentifierText[] }

/**
 * Invitation of an app, and its registration afterwards. `hash`: SHA-256 in base64url of the secret in the initial access token; after the
 * registration, of the secret in the registration access token. `expires`: end of the invitation in milliseconds since 1970; absent: the
 * app has registered.
 */
export type Invited = { readonly hash: string; readonly expires?: number }

/**
 * How a client authenticates. `hashes`: SHA-256 of each valid secret in base64url, the newest first; two during a rotation. `keys`:
 * registered public keys. `uri`: URL of a JSON Web Key Set that the client publishes.
 */
export type ClientAuthentication =
  | { readonly kind: 'secret'; readonly hashes: readonly string[] }
  | { readonly kind: 'keys'; readonly keys: readonly Element[] }
  | { readonly kind: 'uri'; readonly uri: string }
  | { readonly kind: 'public' }

export interface Clients {
  get(id: string): Promise<Client | undefined>
  /** Returns the clients in the order of their ids. */
  list(): Promise<readonly Client[]>
  /**
   * Replaces, adds or removes a client by the result of `change`, and returns it. If `change` returns undefined, the client is removed. If
   * it returns the same object that it got, or throws, nothing is written. It may be called several times. Throws RangeError if `id` is
   * invalid, or if `change` returns a client with another id.
   */
  change(id: string, change: (client: Client | undefined) => Client | undefined): Promise<Client | undefined>
}

export const isClientId = (text: string): boolean => text.length <= 64 && /^[A-Za-z0-9._-]+$/.test(text)
