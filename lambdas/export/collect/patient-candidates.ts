/**
 * Candidates of an export of few patients: resources that may belong to these patients, looked up instead of scanned.
 * The index finds the current data of the patients. The history finds versions written after the transaction time, because no index finds
 * data that has left a patient since. The collector then checks each candidate as of the transaction time, so extra candidates do no harm.
 * A missing one would.
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
const PAGE = 1_000
/** Maximum keys held in memory. A full set is written with a checkpoint. */
const MAX_HELD_KEYS = 200_000

/** Keys found since the last checkpoint. A checkpoint writes them into a blob. */
class FoundKeys {
  readonly #slice: RangeSlice
  #keys = new Set<string>()
  #range: Range

  constructor(slice: RangeSlice, range: Range) {
    this.#slice = slice
    this.#range = range
  }

  /**
   * Adds the keys of exported types, and each Provenance that targets one of the keys, if Provenance is exported. A Provenance may be in no
   * compartment.
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

  /** Stores a checkpoint. Returns false if another writer stored one first. */
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

/** Collects the patients and their data in the index: compartments and Devices. Returns whether there is more to do. */
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
const planOf = ({ tenant }: Pick<Job, 'tenant'>, types: readonly string[], predicate: Predicate): Plan => ({
  ...{ tenant, types, where: predicate, access: 'everything', order: [], limit: PAGE, total: 'none' },
})

/**
 * Collects versions written after the transaction time, and deletions after `_since`. Returns whether there is more to do. `from`: when the
 * index search began. The history is read only after all writes up to that instant are visible.
 */
export async function collectHistoryCandidates(slice: RangeSlice, range: Range, from: number): Promise<boolean> {
  const { parts, job, selection, watch, until } = slice
  if (!(await waitUntilSettled(slice, from))) return true
  const { transactionTime, asked } = job
  const since = Math.min(transactionTime, asked.since ?? transactionTime) + 1
  const found = new FoundKeys(slice, range)
  let after: HistoryPosition | undefined = range.cursor === undefined ? undefined : JSON.parse(range.cursor)
  for (;;) {
    const { versions, more } = await parts.resources.history({ tenant: job.tenant }, { since, placesOnly: true }, after, PAGE)
    const relevant = versions.filter(
      ({ type, lastUpdated, deleted }) => selection.ownership.levelTypes.has(type) && (deleted || lastUpdated > transactionTime),
    )
    await found.add(relevant.map(({ type, id }) => `${type}/${id}`))
    after = positionOf(versions.at(-1)) ?? after
    if (!(await watch.isWanted())) return false
    if (!more) return (await addLatest(slice, found, from)) ? !(await found.checkpoint({ isDone: true })) : true
    const isOver = parts.elapsed() >= until
    if ((isOver || found.isFull) && (!(await found.checkpoint({ cursor: JSON.stringify(after) })) || isOver)) return true
  }
}

/**
 * Reads the writes since the index search again: a Provenance may have changed during the history pass. Returns false if the slice ends
 * first.
 */
async function addLatest(slice: RangeSlice, found: FoundKeys, from: number): Promise<boolean> {
  const { parts, job } = slice
  if (!(await waitUntilSettled(slice, parts.now()))) return false
  for (let after: HistoryPosition | undefined, isMore = true; isMore; ) {
    const { versions, more } = await parts.resources.history({ tenant: job.tenant }, { since: from, placesOnly: true }, after, PAGE)
    found.addExported(versions.map(({ type, id }) => `${type}/${id}`))
    after = positionOf(versions.at(-1)) ?? after
    isMore = more
  }
  return true
}

const positionOf = (version: HistoryPosition | undefined): HistoryPosition | undefined =>
  version && { lastUpdated: version.lastUpdated, type: version.type, id: version.id, versionId: version.versionId }
