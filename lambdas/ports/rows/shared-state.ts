/**
 * A small value that several processes share and change.
 *
 * Guarantees: `change` applies to the latest value, and of concurrent changes none is lost. `read` sees every change that resolved before.
 */

export type VersionedValue<Value> = {
  /** Number of changes so far. */
  readonly number: number
  readonly value: Value
}

export interface SharedState<Value> {
  read(): Promise<VersionedValue<Value>>
  /**
   * Changes the value by the result of `change`, and returns it with its number. Nothing is written if `change` returns the same object
   * that it got.
   */
  change(change: (value: Value) => Value): Promise<VersionedValue<Value>>
}
