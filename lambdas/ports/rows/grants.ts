/**
 * What the authorization server remembers between two requests, each entry for a time: codes, refresh tokens, sessions, launches, consents,
 * assertions that were used, attempts to log in. Secrets are never kept: their SHA-256 is the key.
 *
 * Guarantees
 * - Of racing `add`s under one key one is true; of racing `replace`s of one number one is true.
 * - Every operation sees every other that resolved before it, from any process; what resolved survives the machine.
 * - What has expired is not there, whether it was swept or not.
 * - Keys and owners are any well-formed texts, of 1,000 characters at most; a value has room for 100 kB of JSON.
 */
export type GrantKind = 'code' | 'refresh' | 'session' | 'launch' | 'consent' | 'assertion' | 'attempts'

/** What is kept is JSON. `expires`: milliseconds since 1970; absent: stays. `owner`: by which it is listed; empty: by none. */
export type Grant = { readonly owner: string; readonly value: unknown; readonly expires?: number }

export type GrantRow = Grant & {
  readonly key: string
  /** Rises with each replacement; what is added again under the same key has another one. */
  readonly number: number
}

export interface Grants {
  /** False where there is one already. */
  add(kind: GrantKind, key: string, grant: Grant): Promise<boolean>
  get(kind: GrantKind, key: string): Promise<GrantRow | undefined>
  /** False where it is another by now, or gone. */
  replace(kind: GrantKind, known: GrantRow, by: Grant): Promise<boolean>
  /** True where this call removed it. `number`: it is left where it is another by now. */
  remove(kind: GrantKind, key: string, number?: number): Promise<boolean>
  /** A page of those of an owner, in the order of their keys: what comes after this key; absent: the first. After the last page is an empty one. */
  listOf(kind: GrantKind, owner: string, after?: string): Promise<readonly GrantRow[]>
  /** Frees the room of what has expired. */
  sweep(): Promise<void>
}
