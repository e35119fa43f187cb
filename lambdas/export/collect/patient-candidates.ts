/**
 * Where an export is about few patients, what of the store may be theirs is looked up instead of scanning it: first what the index has of them
 * now, then whatever the store has written after the transaction time, for what left a patient since is in no index. What is so found is
 * judged as of the transaction time, as everything is: it may be too much, never too little.
 */
import { DEVICE_PATIENT_FIELD } from '../../access/rules.ts'
import type { HitPosition, Plan, Predicate } from '../../ports/search/plan.ts'
import type { HistoryPosition } from '../../ports/store/resource-store.ts'
import { type Job, temporaryKeyOf } from '../job/job.ts'
import { findIds } from '../plan/search-ids.ts'
import { waitUntilSettled } from '../plan/until-settled.ts'
import { putKeys } from '../write/key-buckets.ts'
import type { Range } from './range.ts'
import type { RangeSlice } from './range-slice.ts'

/** Hits, or versions, of a page. */
const PAGE = 1_000
/** Keys held in memory. */
const MOST = 200_000

/** What was found, until it is put down with a checkpoint. */
class Found {
  readonly #of: RangeSlice
  #keys = new Set<string>()
  #range: Range

  constructor(of: RangeSlice, range: Range) {
    this.#of = of
    this.#range = range
  }

  /** Of the types that are asked for; and what the index has of provenance of these, which may be in no compartment. */
  async add(keys: readonly string[]): Promise<void> {
    const { types } = this.#of.selection
    this.addAsked(keys)
    if (types.has('Provenance') && keys.length > 0) await this.#addProvenance(keys)
  }

  addAsked(keys: readonly string[]): void {
    const { types } = this.#of.selection
    for (const key of keys) if (types.has(key.slice(0, key.indexOf('/')))) this.#keys.add(key)
  }

  async #addProvenance(targets: readonly string[]): Promise<void> {
    const { parts, job } = this.#of
    const plan = planOf(job, ['Provenance'], { kind: 'key', field: 'target', oneOf: targets })
    for await (const ids of findIds(parts.index, plan)) for (const id of ids) this.#keys.add(`Provenance/${id}`)
  }

  get isFull(): boolean {
    return this.#keys.size >= MOST
  }

  /** False where another writer left one since. */
  async checkpoint(change: Partial<Range>): Promise<boolean> {
    const { parts, job, keep } = this.#of
    const met = [...this.#range.met]
    if (this.#keys.size > 0) {
      met.push(temporaryKeyOf(job.id, 'met', parts.newId()))
      await putKeys(parts.blobs, met.at(-1)!, this.#keys)
    }
    const kept = await keep(this.#range, { ...change, met })
    this.#range = kept ?? this.#range
    this.#keys = new Set()
    return kept !== undefined
  }
}

type Cursor = { readonly at: number; readonly after?: HitPosition }

/** The patients themselves, and what the index has in their compartments. Whether there is more to do. */
export async function collectIndexCandidates(of: RangeSlice, range: Range, [from, to]: readonly [number, number]): Promise<boolean> {
  const { parts, selection, watch, until } = of
  const patients = [...(selection.narrowed.patients ?? [])].slice(from, to)
  const plans = plansOf(of, patients)
  const found = new Found(of, range)
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

/** A Device is in no compartment: it says whose it is. What provenance is about may be of a type that is not asked for. */
function plansOf({ job, selection: { types, whose } }: RangeSlice, patients: readonly string[]): readonly Plan[] {
  const all = [...(types.has('Provenance') ? whose.levelTypes : types)]
  const others = all.filter((type) => type !== 'Device' && type !== 'Patient')
  const inCompartments = planOf(job, others, { kind: 'compartment', oneOf: patients })
  const devices = planOf(job, ['Device'], { kind: 'key', field: DEVICE_PATIENT_FIELD, oneOf: patients })
  return [...(others.length > 0 ? [inCompartments] : []), ...(all.includes('Device') ? [devices] : [])]
}

/** Whatever is found is judged when it is read. */
const planOf = ({ tenant }: Pick<Job, 'tenant'>, types: readonly string[], where: Predicate): Plan => ({
  ...{ tenant, types, where, access: 'everything', order: [], limit: PAGE, total: 'none' },
})

/**
 * Whatever was written after the transaction time, and what was deleted after `_since`. `from`: when the index had been asked; what was
 * written until then is all read. Whether there is more to do.
 */
export async function collectHistoryCandidates(of: RangeSlice, range: Range, from: number): Promise<boolean> {
  const { parts, job, selection, watch, until } = of
  if (!(await waitUntilSettled(of, from))) return true
  const { transactionTime, asked } = job
  const since = Math.min(transactionTime, asked.since ?? transactionTime) + 1
  const found = new Found(of, range)
  let after: HistoryPosition | undefined = range.cursor === undefined ? undefined : JSON.parse(range.cursor)
  for (;;) {
    const { versions, more } = await parts.resources.history({ tenant: job.tenant }, { since, placesOnly: true }, after, PAGE)
    const wanted = versions.filter(
      ({ type, lastUpdated, deleted }) => selection.whose.levelTypes.has(type) && (deleted || lastUpdated > transactionTime),
    )
    await found.add(wanted.map(({ type, id }) => `${type}/${id}`))
    after = positionOf(versions.at(-1)) ?? after
    if (!(await watch.isWanted())) return false
    if (!more) return (await addLatest(of, found, from)) ? !(await found.checkpoint({ isDone: true })) : true
    const isOver = parts.elapsed() >= until
    if ((isOver || found.isFull) && (!(await found.checkpoint({ cursor: JSON.stringify(after) })) || isOver)) return true
  }
}

/** Once more what was written since the index had been asked: provenance that was looked up beside the history may have changed meanwhile. */
async function addLatest(of: RangeSlice, found: Found, from: number): Promise<boolean> {
  const { parts, job } = of
  if (!(await waitUntilSettled(of, parts.now()))) return false
  for (let after: HistoryPosition | undefined, isMore = true; isMore; ) {
    const { versions, more } = await parts.resources.history({ tenant: job.tenant }, { since: from, placesOnly: true }, after, PAGE)
    found.addAsked(versions.map(({ type, id }) => `${type}/${id}`))
    after = positionOf(versions.at(-1)) ?? after
    isMore = more
  }
  return true
}

const positionOf = (version: HistoryPosition | undefined): HistoryPosition | undefined =>
  version && { lastUpdated: version.lastUpdated, type: version.type, id: version.id, versionId: version.versionId }
