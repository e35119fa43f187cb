/** Large immutable objects by key: bodies that exceed the size of a table item, and files of exports. */

export type Blob = { readonly bytes: Uint8Array; readonly contentType: string }
/** `written`: when the object was finished, in milliseconds since 1970. */
export type BlobInfo = { readonly key: string; readonly size: number; readonly written: number }

/** An object that is written in numbered parts, by one or several processes. */
export interface BlobParts {
  /** Identifies the unfinished object: another process continues it with `openParts(key, contentType, id)`. */
  readonly id: string
  /** Writes part `n` (1 to 10,000). Writing the same number again replaces the part. Returns the tag that `complete` requires. */
  writePart(n: number, bytes: Uint8Array): Promise<string>
  /** Joins the given parts in ascending order. Every part but the last has at least 5 MiB. A wrong tag fails and keeps the parts. */
  complete(parts: readonly { readonly n: number; readonly tag: string }[]): Promise<void>
  /** Discards all parts. Idempotent. Afterwards `writePart` and `complete` fail. */
  abort(): Promise<void>
}

/**
 * Guarantees
 * - Keys are `/`-separated segments of `[A-Za-z0-9._~-]`, 1 to 900 characters, without empty, `.` or `..` segments; others throw
 *   RangeError.
 * - `put` is atomic (a reader sees all of it or none) and durable when it resolves; a second `put` replaces the object.
 * - `get` returns undefined for an unknown key. `range` is [first byte, one past the last byte), cut at the end of the object.
 * - `remove` is idempotent. `list` yields keys with the prefix in ascending code-unit order, finished objects only.
 */
export interface BlobStore {
  put(key: string, blob: Blob): Promise<void>
  get(key: string, range?: readonly [from: number, to: number]): Promise<Blob | undefined>
  remove(key: string): Promise<void>
  list(prefix: string): AsyncIterable<BlobInfo>
  openParts(key: string, contentType: string, id?: string): Promise<BlobParts>
  /** Yields the keys of unfinished objects with the prefix, opened by any process: ascending, each once. */
  unfinished(prefix: string): AsyncIterable<string>
  /** Aborts all unfinished objects with the prefix. Idempotent; finished objects stay. */
  abortParts(prefix: string): Promise<void>
}
