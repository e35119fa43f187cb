/** Large immutable objects by key: bodies that exceed the size of a table item, and files of exports. */

export type Blob = { readonly bytes: Uint8Array; readonly contentType: string }
/** Stored object. `size`: bytes. `written`: when the object was finished, in milliseconds since 1970. */
export type BlobInfo = { readonly key: string; readonly size: number; readonly written: number }

/** An object that is written in numbered parts, by one or several processes. */
export interface BlobParts {
  /** Id of the unfinished object. Another process continues it with `openParts(key, contentType, id)`. */
  readonly id: string
  /** Writes part `n` (1 to 10,000). Writing a number again replaces the part. Returns the tag of the part, which `complete` requires. */
  writePart(n: number, bytes: Uint8Array): Promise<string>
  /**
   * Joins the given parts in ascending order into the finished object. Every part except the last must have at least 5 MiB. A wrong tag
   * fails and keeps the parts.
   */
  complete(parts: readonly { readonly n: number; readonly tag: string }[]): Promise<void>
  /** Discards all parts. Idempotent. Afterwards `writePart` and `complete` fail. */
  abort(): Promise<void>
}

/**
 * Guarantees
 * - Keys are `/`-separated segments of `[A-Za-z0-9._~-]`, 1 to 900 characters, without empty, `.` or `..` segments; others throw
 *   RangeError.
 * - `put` is atomic (a reader sees the whole object or none of it) and durable when it resolves. A second `put` replaces the object.
 * - `get` returns undefined for an unknown key. `range`: first byte, and one past the last byte. A range that exceeds the object ends with
 *   it.
 * - `remove` is idempotent. `list` yields finished objects whose key begins with the prefix, in ascending code-unit order of the keys.
 *   `after`: only keys that are greater.
 */
export interface BlobStore {
  put(key: string, blob: Blob): Promise<void>
  get(key: string, range?: readonly [from: number, to: number]): Promise<Blob | undefined>
  remove(key: string): Promise<void>
  list(prefix: string, after?: string): AsyncIterable<BlobInfo>
  openParts(key: string, contentType: string, id?: string): Promise<BlobParts>
  /** Yields the keys with the prefix of which objects are unfinished, opened by any process: ascending, each once. */
  unfinished(prefix: string): AsyncIterable<string>
  /** Discards all unfinished objects whose key begins with the prefix. Idempotent; finished objects stay. */
  abortParts(prefix: string): Promise<void>
}
