/**
 * The registered clients. https://www.rfc-editor.org/rfc/rfc6749#section-2
 *
 * Guarantees: `get` and `list` see every change that resolved before, from any process. Of racing changes to one client none is lost, and a
 * change that resolved survives a machine failure. A client may have 100 kB of JSON. `get` accepts any text, and returns undefined for one
 * that cannot be an id.
 */
import type { Element } from '../../fhir/resource.ts'

export type Client = {
  /** Id in tokens and URLs: `[A-Za-z0-9._-]{1,64}`. */
  readonly id: string
  /** Name that users see. */
  readonly name: string
  readonly authentication: ClientAuthentication
  /** Scopes that the client may request; see access/scopes.ts. It gets `system/admin` only if that is listed here. */
  readonly scopes: readonly string[]
  /** https, loopback or private-use URIs. They are compared as text. */
  readonly redirectUris: readonly string[]
  /** Tenants that the client may request; `*` stands for all. */
  readonly tenants: readonly string[]
  /** `Patient/1`: the patient in context of its own tokens (client_credentials). */
  readonly patient?: string
  /** Whether the client may introspect tokens of other clients. */
  readonly mayIntrospect: boolean
  /** `strong`: responses to its writes wait until searches find them. Absent: the setting of this name applies. */
  readonly consistency?: 'eventual' | 'strong'
  /**
   * Milliseconds since 1970. A client that is removed and registered again is a different one, even with the same id. Absent for clients
   * that were registered before this was stored.
   */
  readonly registeredAt?: number
  /**
   * Credential generation: random, and new after each change that revokes everything issued before. Absent for clients from before this was
   * stored.
   */
  readonly generation?: string
  /** Time of the last change, in milliseconds since 1970. */
  readonly changedAt: number
}

/** `hashes`: SHA-256 of each valid secret, base64url; two during a rotation. `keys`: keys of a JSON Web Key Set. `uri`: URI of one. */
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
   * Changes, adds or removes a client and returns the result. If `change` returns undefined, the client is removed. If it returns the very
   * client it got, or throws, nothing is written. It may be called several times. Throws RangeError if `id` is invalid, or if `change`
   * returns a client with another id.
   */
  change(id: string, change: (client: Client | undefined) => Client | undefined): Promise<Client | undefined>
}

export const isClientId = (text: string): boolean => text.length <= 64 && /^[A-Za-z0-9._-]+$/.test(text)
