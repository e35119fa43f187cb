/**
 * Rows that name the resources with an identifier value. A search by identifier can read them at once, while the search index lags.
 *
 * Guarantees
 * - Each writer adds the rows of a write's `identifiers` before it commits the write. So a committed value always has its row.
 * - A row may be left over: the commit failed, or a later version no longer has the value. Readers check the current version.
 * - `carrying` covers every row that was added before the read began.
 */
import type { Identifier, ResourceKey } from './resource-store.ts'

/** Identifiers that a search accepts: with this value, and with this system. Without `system`: with any system or none. */
export type IdentifierCriterion = { readonly value: string; readonly system?: string }

/** Resource that has the identifier, or is about to have it. */
export type IdentifierEntry = ResourceKey & { readonly identifiers?: readonly Identifier[] }

/**
 * A stored row. `criterion`: criterion that it meets. `written`: when it was added, in milliseconds since 1970. `row`: identifies it for
 * `forget`.
 */
export type IdentifierRow = {
  readonly key: ResourceKey
  readonly criterion: IdentifierCriterion
  readonly written: number
  readonly row: string
}

export interface IdentifierRows {
  /** Adds the rows of resources that were written without them. */
  add(entries: readonly IdentifierEntry[]): Promise<void>
  /** Returns the rows that meet one of the criteria. If there are more than `limit`, returns only some of them, but more than `limit`. */
  carrying(
    scope: { readonly tenant: string; readonly type: string },
    criteria: readonly IdentifierCriterion[],
    limit: number,
  ): Promise<readonly IdentifierRow[]>
  /** Removes the rows, except those that were added again since they were read. */
  forget(rows: readonly IdentifierRow[]): Promise<void>
}
