/** Numbers for the groups of documents. Documents with the same groups share a number, and a legend has the groups of each number. */
import { keyFieldsOf } from '../forward-entry.ts'
import { ID_FIELD } from '../schema.ts'
import { type ColumnSource, type Legend, UNKNOWN } from './cached-columns.ts'
import type { KindNumbers } from './compile-plan.ts'
import { groupKeysOf } from './document-keys.ts'

/** Approximate maximum bytes of a legend. It has room for about MAX_GROUPS groups with keys of 60 characters. */
const MOST_BYTES = 16_000_000
/** Approximate bytes of an entry of the legend, without its texts. */
const ENTRY = 120

export class GroupLegend implements Legend {
  bytes = 0
  readonly #numbers = new Map<string, number>()
  readonly #keys: (readonly string[])[] = []

  /** Returns the group keys of a number. */
  keysOf(number: number): readonly string[] {
    return this.#keys[number]!
  }

  /** Returns the number of a list of group keys, or UNKNOWN if the legend has no room for it. */
  numberOf(keys: readonly string[]): number {
    const text = JSON.stringify(keys)
    const known = this.#numbers.get(text)
    if (known !== undefined) return known
    // The text is stored twice, as keys and as JSON.
    this.bytes += ENTRY + 2 * text.length
    if (this.bytes > MOST_BYTES) return UNKNOWN
    this.#numbers.set(text, this.#keys.length)
    return this.#keys.push(keys) - 1
  }
}

/**
 * Returns the column of the groups by a field, which all kinds share. Returns undefined if the groups are the ids, because each number would
 * have one document. `numbers`: current field numbers of the kind whose documents are read.
 */
export function groupNumbers(field: string, numbers: KindNumbers): ColumnSource<GroupLegend> | undefined {
  if (keyFieldsOf(field).includes(ID_FIELD)) return undefined
  return {
    name: `groups ${field}`,
    sql: 'd.held',
    legend: () => new GroupLegend(),
    numberOf: (entry, legend) => legend.numberOf(groupKeysOf({ id: '', entry: String(entry) }, field, numbers)),
  }
}
