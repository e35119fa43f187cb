/**
 * Encrypts and authenticates texts that clients store for the server, such as cursors and index tokens. Clients can neither read nor forge
 * them.
 *
 * Guarantees: `open(seal(text, at))` returns the text and `at`. For a changed text, or one that another server sealed, `open` returns
 * undefined. A sealed text has only characters of `[A-Za-z0-9_-]`. `isFormer`: the text was sealed before the store was restored to an
 * earlier time.
 */
export interface Seal {
  /** Returns the sealed text. `at`: milliseconds since 1970, which `open` returns. */
  seal(text: string, at: number): string
  open(sealed: string): { readonly text: string; readonly at: number; readonly isFormer?: boolean } | undefined
}
