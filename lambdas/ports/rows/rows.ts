/**
 * Small values by owner and key (`name`), which several processes share and change.
 *
 * Guarantees
 * - An owner has 1 to 200 characters of `[A-Za-z0-9/_-]`, a name 1 to 200 of `[A-Za-z0-9._-]`; others throw RangeError.
 * - A value is plain JSON of up to 300,000 bytes; a longer one throws RangeError. A change that resolved is durable, and every read that
 *   begins afterwards sees it.
 * - `change` applies to the latest value, and of concurrent changes none is lost: the function may be called again with a newer value.
 * - `list` yields rows by ascending name (code units), none twice. It yields every row that exists during the whole listing. Rows that are
 *   added or removed meanwhile may be missing.
 */
export interface Rows {
  read<Value>(owner: string, name: string): Promise<Value | undefined>
  /**
   * Changes a row by the result of `change`, and returns its value afterwards. If the row does not exist, `change` gets undefined, and its
   * result becomes a new row. Nothing is written if it returns undefined or the same object that it got, which it must not alter. If it
   * throws, nothing is written and the call throws the error.
   */
  change<Value>(owner: string, name: string, change: (value: Value | undefined) => Value | undefined): Promise<Value | undefined>
  list<Value>(owner: string): AsyncIterable<{ readonly name: string; readonly value: Value }>
  /** Removes a row, or without a name all rows of the owner. Idempotent. */
  remove(owner: string, name?: string): Promise<void>
}
