/**
 * Small values by shelf and name, which several processes share and change.
 *
 * Guarantees
 * - A shelf is 1 to 200 characters of `[A-Za-z0-9/_-]`, a name 1 to 200 of `[A-Za-z0-9._-]`; others throw RangeError.
 * - A value is plain JSON of up to 300,000 bytes; a longer one throws RangeError. What resolved is durable, and every read that begins afterwards sees it.
 * - `change` applies to the latest value, and of racing changes none is lost: the function may be called again with what another left.
 * - `list` yields rows by ascending name (code units): each that stands there all the while, those that come and go perhaps, none twice.
 */
export interface Rows {
  read<Value>(shelf: string, name: string): Promise<Value | undefined>
  /**
   * What stands there afterwards. Nothing is written where `change` gives back undefined, or the very value it got, which it must not alter; what
   * it gives for undefined is a new row. What it throws is thrown, and nothing is written.
   */
  change<Value>(shelf: string, name: string, change: (value: Value | undefined) => Value | undefined): Promise<Value | undefined>
  list<Value>(shelf: string): AsyncIterable<{ readonly name: string; readonly value: Value }>
  /** Idempotent. Without a name: all of the shelf. */
  remove(shelf: string, name?: string): Promise<void>
}
