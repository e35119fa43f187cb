/**
 * A small value that several processes share and change.
 *
 * Guarantees: `change` applies to the latest value, and of racing changes none is lost. `read` sees every change that resolved before.
 */

export type VersionedValue<Value> = {
  /** 0 before the first change; each change adds one. */
  readonly number: number
  readonly value: Value
}

export interface SharedState<Value> {
  read(): Promise<VersionedValue<Value>>
  /** Returns the state afterwards. Nothing is written if `change` returns the very value it got. */
  change(change: (value: Value) => Value): Promise<VersionedValue<Value>>
}
