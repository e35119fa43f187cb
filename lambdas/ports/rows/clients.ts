/**
 * The registered applications. https://www.rfc-editor.org/rfc/rfc6749#section-2
 *
 * Guarantees: `get` and `list` see every change that resolved before, from any process; of racing changes to one client none is lost, and what
 * resolved survives the machine. A client has room for 100 kB of JSON. Any text may be asked for, and be nobody's id.
 */
import type { Element } from '../../fhir/resource.ts'

export type Client = {
  /** As it stands in tokens and URLs: `[A-Za-z0-9._-]{1,64}`. */
  readonly id: string
  /** What users are shown. */
  readonly name: string
  readonly authentication: ClientAuthentication
  /** Which it may ask for; see access/scopes.ts. `system/admin` only where it stands here. */
  readonly scopes: readonly string[]
  /** https, loopback or private-use; compared as text. */
  readonly redirectUris: readonly string[]
  /** Which it may ask for; `*`: any. */
  readonly tenants: readonly string[]
  /** `Patient/1`: in context of its own tokens (client_credentials). */
  readonly patient?: string
  /** Learns of tokens of other clients. */
  readonly mayIntrospect: boolean
  /** `strong`: its writes wait until searches find them. Absent: the setting of this name. */
  readonly consistency?: 'eventual' | 'strong'
  /** Milliseconds since 1970. Who is removed and registered again is another, whatever the id; absent: from before this was kept. */
  readonly registeredAt?: number
  /** Random; another one with each change after which what was issued before does not count. Absent: from before this was kept. */
  readonly generation?: string
  /** Milliseconds since 1970: of the last change. */
  readonly changedAt: number
}

/** `hashes`: SHA-256 of each secret that counts, base64url; two while one takes over from the other. `keys`, `uri`: of a JSON Web Key Set. */
export type ClientAuthentication =
  | { readonly kind: 'secret'; readonly hashes: readonly string[] }
  | { readonly kind: 'keys'; readonly keys: readonly Element[] }
  | { readonly kind: 'uri'; readonly uri: string }
  | { readonly kind: 'public' }

export interface Clients {
  get(id: string): Promise<Client | undefined>
  /** In the order of their ids. */
  list(): Promise<readonly Client[]>
  /**
   * undefined: removes it. What it came to; nothing is written where `change` gives back the very client it got, and where it throws.
   * It may be asked several times. RangeError where the id is none, or the client's is another.
   */
  change(id: string, change: (client: Client | undefined) => Client | undefined): Promise<Client | undefined>
}

export const isClientId = (text: string): boolean => text.length <= 64 && /^[A-Za-z0-9._-]+$/.test(text)
