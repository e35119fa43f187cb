/**
 * State of the authorization server between requests: codes, refresh tokens, sessions, launches, consents, used assertions, attempts to log
 * in, and guesses of partners at members. Most of it expires. Secrets are never stored: their SHA-256 is the key.
 *
 * Guarantees
 * - Of concurrent `add` calls for one key one returns true. Of concurrent `replace` calls for one number one returns true.
 * - Every operation sees all operations that resolved before it, from any process. An operation that resolved survives a machine failure.
 * - An expired grant is never returned, whether `sweep` has removed it or not.
 * - Keys and owners are any well-formed texts of at most 1,000 characters. A value may have up to 100 kB of JSON.
 */
export type GrantKind = 'code' | 'refresh' | 'session' | 'launch' | 'consent' | 'assertion' | 'attempts' | 'guesses'

/**
 * Stored value of one kind. `value`: plain JSON. `expires`: milliseconds since 1970; absent: never. `owner`: `listOf` finds the grant by
 * it; empty: it is not listed.
 */
export type Grant = { readonly owner: string; readonly value: unknown; readonly expires?: number }

export type GrantRow = Grant & {
  readonly key: string
  /** Number of this state of the grant; `replace` increases it. A grant that is added again under the same key has a different number. */
  readonly number: number
}

export interface Grants {
  /** Adds a grant and returns true. Returns false if a grant of this key exists already. */
  add(kind: GrantKind, key: string, grant: Grant): Promise<boolean>
  get(kind: GrantKind, key: string): Promise<GrantRow | undefined>
  /** Replaces a grant and returns true. Returns false if it was replaced or removed since `known` was read. */
  replace(kind: GrantKind, known: GrantRow, by: Grant): Promise<boolean>
  /** Removes the grant and returns true if this call removed it. `number`: removes only the grant with this number. */
  remove(kind: GrantKind, key: string, number?: number): Promise<boolean>
  /**
   * Returns a page of the grants of an owner, in the order of their keys. `after`: the last key of the previous page; absent: the first
   * page. The list ends with an empty page.
   */
  listOf(kind: GrantKind, owner: string, after?: string): Promise<readonly GrantRow[]>
  /** Removes expired grants to free their space. */
  sweep(): Promise<void>
}
