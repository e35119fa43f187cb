/**
 * A value that several processes share and change, in three parts. Writers read the root. All processes read the summary, which is small.
 * Rows hold what concerns one owner only, so that a process reads them for the owners that it serves.
 *
 * Guarantees
 * - `write` changes root, summary and rows together or not at all. Of concurrent writes that follow the same root one succeeds.
 * - A read sees every write that resolved before it. `rows` sees every write that its `since` shows.
 * - Values are plain JSON. A row has at most 200,000 bytes of it, compressed.
 */
import type { VersionedValue } from './shared-state.ts'

/** Name of a row. `kind`: a letter. `owner`: any text, such as a tenant. */
export type RowName = { readonly kind: string; readonly owner: string }

export type OwnedValue = { readonly owner: string; readonly value: unknown }

/** Shows which rows have changed since they were last read. `number`: number of writes so far. */
export type RowStamps = { readonly number: number; readonly stamps: Readonly<Record<string, number>> }

/** `isForeign`: whether the last writer was an earlier release, which knows neither summary nor rows. */
export type SharedRoot<Root> = VersionedValue<Root> & RowStamps & { readonly isForeign: boolean }

export type SharedSummary<Summary> = VersionedValue<Summary> & RowStamps

/** New values. `summary` absent: it stays. It must be present if rows change. A row that is undefined is removed. */
export type SharedWrite<Root, Summary> = {
  readonly root: Root
  readonly summary?: Summary
  readonly rows?: readonly (RowName & { readonly value: unknown })[]
}

/** Maximum rows of one write. */
export const MAX_WRITTEN_ROWS = 98

export interface SharedRowsReader<Root, Summary> {
  root(): Promise<SharedRoot<Root>>
  /** Returns undefined before the first write with a summary. */
  summary(): Promise<SharedSummary<Summary> | undefined>
  /** Returns the values of the rows in the order of the names, undefined for absent ones. Rows that have not changed come from a cache. */
  rows(names: readonly RowName[], since: RowStamps): Promise<readonly unknown[]>
  /** Returns all rows of the kind, in any order. `page`: maximum rows of one read. */
  list(kind: string, page: number): Promise<readonly OwnedValue[]>
}

export interface SharedRows<Root, Summary> extends SharedRowsReader<Root, Summary> {
  /** Returns false if the root has changed since it was `before`. Nothing is written then. */
  write(before: SharedRoot<Root>, after: SharedWrite<Root, Summary>): Promise<boolean>
  /** Waits before the next attempt of a write. Throws Error after the last one. */
  pause(attempt: number): Promise<void>
}
