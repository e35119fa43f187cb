/**
 * Executes plans for groups. It counts groups by the cached numbers of their documents, and ranks them by the sort number of their first
 * hits. From SQLite it reads only the documents that can be shown.
 */
import type { GroupPlan } from '../../../ports/search/plan.ts'
import type { GroupPage } from '../../../ports/search/search-index.ts'
import { docListOf, listOf } from '../lists/document-sets.ts'
import type { SearchBudget } from './budget.ts'
import type { CachedColumns } from './cached-columns.ts'
import { groupKeysOf } from './document-keys.ts'
import { groupNumbers } from './group-numbers.ts'
import { checkGroupCount, groupsOf, type KeyedHit } from './groups.ts'
import type { IndexReader, KindMatches } from './index-reader.ts'
import { nthAbove } from './nth-key.ts'
import { sortColumn } from './sort-columns.ts'
import { orderKeyOf, sortNumberOf, sortNumbers } from './sort-numbers.ts'

/**
 * Matches of a kind that are in the same groups. `orderKey`: ascending keys are the order of the first sort key. Documents with different
 * sort values may share a key.
 */
type Alike = {
  readonly kind: KindMatches
  readonly groups: readonly string[]
  readonly docs: number[]
  readonly orderKey: (doc: number) => number
  /** Lowest order key of the documents. */
  first: number
}
/** `size`: number of matches. `first`: their lowest order key. */
type Group = { readonly key: string; size: number; first: number; readonly parts: Alike[] }

export class GroupReader {
  readonly #reader: IndexReader
  readonly #columns: CachedColumns
  readonly #budget: SearchBudget

  constructor(reader: IndexReader, columns: CachedColumns, budget: SearchBudget) {
    this.#reader = reader
    this.#columns = columns
    this.#budget = budget
  }

  /**
   * Returns a page of groups. Throws the fault `too-many-groups` for more than MAX_GROUPS groups, `too-costly` if its time budget is used
   * up, or SearchPreempted if it must yield.
   */
  read(plan: GroupPlan): GroupPage {
    const found = this.#reader.found(plan)
    return this.#counted(found, plan) ?? groupsOf(this.#readAll(found, plan), plan)
  }

  /** Yields all matches with their groups, read from their forward entries. */
  *#readAll(found: readonly KindMatches[], { field, order }: GroupPlan): Generator<KeyedHit> {
    for (const kind of found)
      for (const { hit, entry } of this.#reader.hits(kind, order, true))
        yield { hit, keys: groupKeysOf({ id: hit.id, entry }, field, kind.sources.numbers) }
  }

  /** Returns the page from cached columns, or undefined if the order or the groups cannot be cached. */
  #counted(found: readonly KindMatches[], plan: GroupPlan): GroupPage | undefined {
    const groups = new Map<string, Group>()
    for (const kind of found) {
      const parts = this.#alikeOf(kind, plan)
      if (parts === undefined) return undefined
      for (const part of parts) for (const key of part.groups) addPart(groups, key, part)
    }
    checkGroupCount(groups.size)
    const { from, to } = rangeOf([...groups.values()], plan)
    const candidates = new Map([...groups].filter(([, { first }]) => first >= from && first <= to))
    const page = groupsOf(this.#firstHits(candidates, plan), plan)
    return {
      groups: page.groups.map(({ key, hits }) => ({ key, size: groups.get(key)!.size, hits })),
      more: page.more || groups.values().some(({ first }) => first > to),
      total: found.reduce((sum, { docs }) => sum + docs.length, 0),
    }
  }

  /** Returns the matches of a kind by their groups, or undefined if a column cannot be cached. */
  #alikeOf(kind: KindMatches, { field, order: [first] }: GroupPlan): Iterable<Alike> | undefined {
    const { numbers } = kind.sources
    const grouping = groupNumbers(field, numbers)
    if (first === undefined || grouping === undefined) return undefined
    const docs = listOf(kind.docs)
    const groups = this.#columns.of(docs, grouping)
    if (groups === undefined) return undefined
    const sorting = this.#columns.of(docs, sortNumbers(sortColumn(first, numbers.field)))
    if (sorting === undefined) return undefined
    const orderKey = (doc: number): number => orderKeyOf(sorting.numbers[doc]!, first.descending)
    const alike = new Map<number, Alike>()
    for (const doc of docs) {
      this.#budget.tick()
      const number = groups.numbers[doc]!
      let part = alike.get(number)
      if (part === undefined) {
        part = { kind, groups: groups.legend.keysOf(number), docs: [], orderKey, first: Number.POSITIVE_INFINITY }
        alike.set(number, part)
      }
      part.docs.push(doc)
      const key = orderKey(doc)
      if (key < part.first) part.first = key
    }
    return alike.values()
  }

  /** Yields the documents that can be among the first hits of the groups, with their keys among these. */
  *#firstHits(groups: ReadonlyMap<string, Group>, { order, hits: most }: GroupPlan): Generator<KeyedHit> {
    const read = new Map<KindMatches, Map<number, Alike>>()
    for (const { parts } of groups.values()) {
      const last = lastKeyOf(parts, most)
      for (const part of parts) {
        const docs = read.get(part.kind) ?? new Map<number, Alike>()
        read.set(part.kind, docs)
        for (const doc of part.docs) if (part.orderKey(doc) <= last) docs.set(doc, part)
      }
    }
    for (const [kind, docs] of read) {
      const some = { ...kind, docs: docListOf(Uint32Array.from(docs.keys())) }
      for (const { hit, doc } of this.#reader.hits(some, order, false))
        yield { hit, keys: docs.get(doc)!.groups.filter((key) => groups.has(key)) }
    }
  }
}

function addPart(groups: Map<string, Group>, key: string, part: Alike): void {
  const group = groups.get(key)
  if (group === undefined) return void groups.set(key, { key, size: part.docs.length, first: part.first, parts: [part] })
  group.size += part.docs.length
  group.first = Math.min(group.first, part.first)
  group.parts.push(part)
}

/**
 * Returns the lowest and the highest first key of the groups that can be on the page. Groups with the key of the position `after` may be
 * before or after it.
 */
function rangeOf(groups: readonly Group[], { order, after, skip = 0, limit }: GroupPlan): { readonly from: number; readonly to: number } {
  const from =
    after === undefined
      ? Number.NEGATIVE_INFINITY
      : orderKeyOf(sortNumberOf(after.position.values[0] ?? null), order[0]?.descending === true)
  const firsts = Float64Array.from(groups, ({ first }) => first)
  return { from, to: nthAbove(firsts, from, Math.max(1, skip + limit)) }
}

/** Returns the highest order key that one of the first `most` documents can have. */
function lastKeyOf(parts: readonly Alike[], most: number): number {
  const keys = new Float64Array(parts.reduce((sum, { docs }) => sum + docs.length, 0))
  let n = 0
  for (const { docs, orderKey } of parts) for (const doc of docs) keys[n++] = orderKey(doc)
  return nthAbove(keys, Number.NEGATIVE_INFINITY, most)
}
