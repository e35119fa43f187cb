/**
 * Makes a text that a client holds for the server secret and unforgeable: cursors, index tokens.
 *
 * Guarantees: `open(seal(text, at))` returns the text and `at`. For a changed text, or one that another server sealed, `open` returns
 * undefined. A sealed text has only characters of `[A-Za-z0-9_-]`. `isFormer`: it was sealed before the store was returned to an earlier
 * time.
 */
export interface Seal {
  /** `at`: milliseconds since 1970; `open` returns it. */
  seal(text: string, at: number): string
  open(sealed: string): { readonly text: string; readonly at: number; readonly isFormer?: boolean } | undefined
}
