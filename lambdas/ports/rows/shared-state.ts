/**
 * A small value several processes share and change.
 *
 * Guarantees: `change` applies to the latest value, and of racing changes none is lost; `read` sees every change that resolved before.
 */

export type VersionedValue<Value> = {
  /** 0 before the first change, then rising by one. */
  readonly number: number
  readonly value: Value
}

export interface SharedState<Value> {
  read(): Promise<VersionedValue<Value>>
  /** What it came to. Nothing is written where `change` gives back the very value it got. */
  change(change: (value: Value) => Value): Promise<VersionedValue<Value>>
}
