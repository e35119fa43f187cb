/**
 * Keeps a text that a client carries for us secret and unforgeable: cursors, index tokens.
 *
 * Guarantees: `open(seal(text, at))` is the text and `at`; a changed text, or one another server sealed, opens as undefined.
 * What is sealed uses only characters of `[A-Za-z0-9_-]`. `isFormer`: it was sealed before the store was set back to an earlier time.
 */
export interface Seal {
  /** `at`: milliseconds since 1970, told back by `open`. */
  seal(text: string, at: number): string
  open(sealed: string): { readonly text: string; readonly at: number; readonly isFormer?: boolean } | undefined
}
