/**
 * Candidates of an export of few patients: resources that may belong to these patients, looked up instead of scanned. The index finds the
 * current data of the patients. The history adds what changed after the transaction time, because the index no longer finds data that has
 * left a patient since. The collector then reads each candidate as of the transaction time and checks it. An extra candidate is harmless,
 * but a missing one is missing in the export.
 */
import { DEVICE_PATIENT_FIELD } from '../../access/rules.ts'
import type { HitPosition, Plan, Predicate } from '../../ports/search/plan.ts'
import type { HistoryPosition } from '../../ports/store/resource-store.ts'
import { type Job, temporaryKeyOf } from '../job/job.ts'
import { findIds } from '../plan/search-ids.ts'
import { waitUntilSettled } from '../plan/settled-wait.ts'
import { putKeys } from '../write/key-buckets.ts'
import type { Range } from './range.ts'
import type { RangeSlice } from './range-slice.ts'

/** Hits or versions per page. */
export const PAGE = 1_000
/**
 * Keys held in memory at which a checkpoint stores them in a blob. It is checked after each page, so the keys of one page may exceed it.
 */
const MAX_HELD_KEYS = 200_000

/** Keys found since the last checkpoint. A checkpoint writes them into a blob. */
export class FoundKeys {
  readonly #slice: RangeSlice
  #keys = new Set<string>()
  #range: Range

  constructor(slice: RangeSlice, range: Range) {
    this.#slice = slice
    this.#range = range
  }

  /**
   * Adds the keys whose type is exported. If Provenance is exported, also adds each Provenance that targets one of the keys, because a
   * Provenance may be in no compartment.
   */
  async add(keys: readonly string[]): Promise<void> {
    const { types } = this.#slice.selection
    this.addExported(keys)
    if (types.has('Provenance') && keys.length > 0) await this.#addProvenance(keys)
  }

  addExported(keys: readonly string[]): void {
    const { types } = this.#slice.selection
    for (const key of keys) if (types.has(key.slice(0, key.indexOf('/')))) this.#keys.add(key)
  }

  async #addProvenance(targets: readonly string[]): Promise<void> {
    const { parts, job } = this.#slice
    const plan = planOf(job, ['Provenance'], { kind: 'key', field: 'target', oneOf: targets })
    for await (const ids of findIds(parts.index, plan)) for (const id of ids) this.#keys.add(`Provenance/${id}`)
  }

  get isFull(): boolean {
    return this.#keys.size >= MAX_HELD_KEYS
  }

  /** Stores the found keys and a checkpoint. Returns false if another writer stored a checkpoint first; the keys are then discarded. */
  async checkpoint(change: Partial<Range>): Promise<boolean> {
    const { parts, job, keep } = this.#slice
    const met = [...this.#range.met]
    if (this.#keys.size > 0) {
      met.push(temporaryKeyOf(job.id, 'met', parts.newId()))
      await putKeys(parts.blobs, met.at(-1)!, this.#keys)
    }
    const stored = await keep(this.#range, { ...change, met })
    this.#range = stored ?? this.#range
    this.#keys = new Set()
    return stored !== undefined
  }
}

type Cursor = { readonly at: number; readonly after?: HitPosition }

/**
 * Collects the patients `from` to `to` of the job, and their data in the index: compartments and Devices. Returns whether another slice is
 * needed; a stopped job needs none.
 */
export async function collectIndexCandidates(slice: RangeSlice, range: Range, [from, to]: readonly [number, number]): Promise<boolean> {
  const { parts, selection, watch, until } = slice
  const patients = [...(selection.jobScope.patients ?? [])].slice(from, to)
  const plans = plansOf(slice, patients)
  const found = new FoundKeys(slice, range)
  let { at, after }: Cursor = range.cursor === undefined ? { at: 0 } : JSON.parse(range.cursor)
  if (range.cursor === undefined) await found.add(patients)
  while (at < plans.length) {
    const { hits, more } = await parts.index.find({ ...plans[at]!, ...(after === undefined ? {} : { after }) })
    await found.add(hits.map(({ type, id }) => `${type}/${id}`))
    ;[at, after] = more ? [at, hits.at(-1)?.position] : [at + 1, undefined]
    if (!(await watch.isWanted())) return false
    const isOver = parts.elapsed() >= until
    const cursor = JSON.stringify({ at, after })
    if (at < plans.length && (isOver || found.isFull) && (!(await found.checkpoint({ cursor })) || isOver)) return true
  }
  return !(await found.checkpoint({ isDone: true }))
}

/**
 * Returns the searches for the data of the patients. A Device is in no compartment and is found by its `patient`. For Provenance the
 * searches cover all types of the level: its target may be of a type that is not requested.
 */
function plansOf({ job, selection: { types, ownership } }: RangeSlice, patients: readonly string[]): readonly Plan[] {
  const all = [...(types.has('Provenance') ? ownership.levelTypes : types)]
  const others = all.filter((type) => type !== 'Device' && type !== 'Patient')
  const inCompartments = planOf(job, others, { kind: 'compartment', oneOf: patients })
  const devices = planOf(job, ['Device'], { kind: 'key', field: DEVICE_PATIENT_FIELD, oneOf: patients })
  return [...(others.length > 0 ? [inCompartments] : []), ...(all.includes('Device') ? [devices] : [])]
}

/** Returns a search without access rules. The collector checks access when it reads the versions. */
export const planOf = ({ tenant }: Pick<Job, 'tenant'>, types: readonly string[], predicate: Predicate): Plan => ({
  ...{ tenant, types, where: predicate, access: 'everything', order: [], limit: PAGE, total: 'none' },
})

/**
 * Position in the history. `isLatest`: the position is in the second reading. An earlier release ignores it and continues the first reading
 * from there, which collects more keys and so loses none.
 */
type HistoryCursor = HistoryPosition & { readonly isLatest?: true }

/**
 * Collects the keys of versions written after the transaction time and, with `_since`, of deletions after it. Returns whether another slice
 * is needed; a stopped job needs none. `from`: instant after the end of the index search. The history is read only once all writes up to
 * `from` are visible.
 */
export async function collectHistoryCandidates(slice: RangeSlice, range: Range, from: number): Promise<boolean> {
  const { parts, job, selection, watch, until } = slice
  if (!(await waitUntilSettled(slice, from))) return true
  const { transactionTime, asked } = job
  const since = Math.min(transactionTime, asked.since ?? transactionTime) + 1
  const found = new FoundKeys(slice, range)
  const cursor: HistoryCursor | undefined = range.cursor === undefined ? undefined : JSON.parse(range.cursor)
  let after = positionOf(cursor)
  if (cursor?.isLatest) return collectLatest(slice, found, from, after)
  for (;;) {
    const { versions, more } = await parts.resources.history({ tenant: job.tenant }, { since, placesOnly: true }, after, PAGE)
    const relevant = versions.filter(
      ({ type, lastUpdated, deleted }) => selection.ownership.levelTypes.has(type) && (deleted || lastUpdated > transactionTime),
    )
    await found.add(relevant.map(({ type, id }) => `${type}/${id}`))
    after = positionOf(versions.at(-1)) ?? after
    if (!(await watch.isWanted())) return false
    if (!more) return (await waitUntilSettled(slice, parts.now())) ? collectLatest(slice, found, from) : true
    const isOver = parts.elapsed() >= until
    if ((isOver || found.isFull) && (!(await found.checkpoint({ cursor: JSON.stringify(after) })) || isOver)) return true
  }
}

/**
 * Collects the keys of all versions written since `from`, by a second reading of the history. The first reading misses a Provenance that
 * changes while it runs, because the index then finds it only by its new targets. Returns whether another slice is needed. `from`:
 * milliseconds since 1970. `first`: position after which the reading continues.
 */
async function collectLatest(slice: RangeSlice, found: FoundKeys, from: number, first?: HistoryPosition): Promise<boolean> {
  const { parts, job, watch, until } = slice
  for (let after = first; ; ) {
    const { versions, more } = await parts.resources.history({ tenant: job.tenant }, { since: from, placesOnly: true }, after, PAGE)
    found.addExported(versions.map(({ type, id }) => `${type}/${id}`))
    after = positionOf(versions.at(-1)) ?? after
    if (!(await watch.isWanted())) return false
    if (!more) return !(await found.checkpoint({ isDone: true }))
    const isOver = parts.elapsed() >= until
    const cursor = JSON.stringify({ ...after, isLatest: true })
    if ((isOver || found.isFull) && (!(await found.checkpoint({ cursor })) || isOver)) return true
  }
}

export const positionOf = (version: HistoryPosition | undefined): HistoryPosition | undefined =>
  version && { lastUpdated: version.lastUpdated, type: version.type, id: version.id, versionId: version.versionId }
