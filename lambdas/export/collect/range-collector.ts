/**
 * Runs a range (range.ts), slice by slice. Index and history ranges collect keys of candidates. The other ranges read their keys as of the
 * transaction time and write the versions that belong to the export.
 */

import { toResourceKey } from '../../ports/store/resource-key.ts'
import type { DamagedVersion, ResourceVersion } from '../../ports/store/resource-store.ts'
import { CHECKPOINT_INTERVAL_MS } from '../job/checkpoint.ts'
import { type Job, rangeRowsOf, temporaryKeyOf } from '../job/job.ts'
import { AUTHORIZATION, DOCUMENT } from '../plan/partner-types.ts'
import type { OmissionReason } from '../select/omission-reason.ts'
import { selectOutsidePeriod } from '../select/outside-period.ts'
import { selectReferencedVersions, selectVersions } from '../select/selection.ts'
import type { ExportParts } from '../step-types.ts'
import { isDamaged, versionsAsOf } from '../versions/versions-as-of.ts'
import { BUCKET_COUNT, type BucketRange, putKeys, readKeys } from '../write/key-buckets.ts'
import { WriterOutput } from '../write/output.ts'
import { collectHistoryCandidates, collectIndexCandidates } from './patient-candidates.ts'
import type { Range, RoundSource } from './range.ts'
import { roundSourceKeyOf } from './range-planner.ts'
import { type RangeSlice, rangeSliceOf } from './range-slice.ts'
import { collectAuthorizations } from './unchanged-authorizations.ts'

/**
 * Keys per lookup. The first page has one key, and each later page at most twice as many as the previous. A page is also so small that its
 * versions fit into MAX_HELD_BYTES, if all are as large as the largest of the previous page. One version may be as large as a request body.
 */
const PAGE = { first: 1, most: 16 }
const MAX_HELD_BYTES = 16 * 1024 * 1024

/** Runs one slice of a range. Returns whether another slice is needed; a stopped job needs none. */
export async function collectSlice(parts: ExportParts, job: Job, name: string): Promise<boolean> {
  const range = await parts.rows.read<Range>(rangeRowsOf(job.id), name)
  if (range === undefined || range.isDone) return false
  const slice = await rangeSliceOf(parts, job, name)
  switch (range.sought.kind) {
    case 'index':
      return collectIndexCandidates(slice, range, range.sought.patients)
    case 'history':
      return collectHistoryCandidates(slice, range, range.sought.from)
    case 'authorizations':
      return collectAuthorizations(slice, range)
    default:
      return new Collector(slice, range, range.sought).collect()
  }
}

type KeyTarget = Extract<Range['sought'], { readonly buckets: BucketRange }>

class Collector {
  readonly #slice: RangeSlice
  readonly #target: KeyTarget
  readonly #output: WriterOutput
  #range: Range
  #page = PAGE.first

  constructor(slice: RangeSlice, range: Range, target: KeyTarget) {
    const { parts, job, selection } = slice
    this.#slice = slice
    this.#range = range
    this.#target = target
    this.#output = new WriterOutput(parts, job, selection, range)
  }

  async collect(): Promise<boolean> {
    const { parts, watch, until } = this.#slice
    const keys = await this.#keys()
    if (keys === undefined) return true
    let nextCheckpoint = parts.elapsed() + CHECKPOINT_INTERVAL_MS
    while (this.#range.at < keys.length) {
      const page = keys.slice(this.#range.at, this.#range.at + this.#page)
      await this.#export(page)
      const at = this.#range.at + page.length
      // The plan's total does not include resources that are exported only by reference, so they do not count as progress.
      this.#range = { ...this.#range, at, ...(this.#target.kind === 'candidates' ? { seen: at } : {}) }
      if (!(await watch.isWanted())) return false
      if (this.#range.at === keys.length) break
      if (parts.elapsed() >= until) return this.#checkpoint(false).then(() => true)
      if (parts.elapsed() < nextCheckpoint) continue
      // Another writer has stored a checkpoint first. That writer continues.
      if (!(await this.#checkpoint(false))) return true
      nextCheckpoint = parts.elapsed() + CHECKPOINT_INTERVAL_MS
    }
    return !(await this.#checkpoint(true))
  }

  async #export(names: readonly string[]): Promise<void> {
    const { parts, job } = this.#slice
    const found = await versionsAsOf(
      parts.resources,
      names.map((name) => toResourceKey(job.tenant, name)),
      job.transactionTime,
    )
    const isInExport = ({ deleted }: DamagedVersion): boolean =>
      !deleted || (this.#target.kind === 'candidates' && job.asked.since !== undefined)
    // guard: damaged-version-of-other-scope
    for (const version of found) if (isDamaged(version) && isInExport(version)) this.#output.leaveOut(version, 'damaged')
    const versions = found.filter((version): version is ResourceVersion => version !== undefined && !isDamaged(version))
    await this.#output.add(await this.#selected(versions))
    const largest = versions.reduce((size, { body }) => Math.max(size, body.length), 1)
    this.#page = Math.max(1, Math.min(2 * this.#page, PAGE.most, Math.floor(MAX_HELD_BYTES / largest)))
  }

  /**
   * Selects the versions to export. For references, the versions that the scan has exported are selected again, to leave them out here. If
   * that check fails for a version, the scan may have exported it, so it is reported instead of written twice.
   */
  async #selected(versions: readonly ResourceVersion[]): Promise<readonly ResourceVersion[]> {
    const { selection } = this.#slice
    const left = new Set<ResourceVersion>()
    const leaveOut = (version: ResourceVersion, reason: OmissionReason): void => {
      left.add(version)
      this.#output.leaveOut(version, reason)
    }
    const scanned = await selectVersions(selection, versions, leaveOut)
    const isNamed = this.#target.kind === 'references'
    this.#output.follow(await selectOutsidePeriod(selection, versions, isNamed ? [AUTHORIZATION, DOCUMENT] : [AUTHORIZATION], leaveOut))
    if (!isNamed) return scanned
    this.#output.follow(scanned)
    // guard: omitted-version-is-not-exported
    const others = versions.filter((version) => !left.has(version))
    return await selectReferencedVersions(selection, others, scanned, leaveOut)
  }

  /**
   * Returns the keys of the range. The first slice stores them, so that later slices see the same order. Returns undefined if another
   * writer stored a checkpoint first.
   */
  async #keys(): Promise<readonly string[] | undefined> {
    const { parts, job, keep } = this.#slice
    const { blobs } = parts
    if (this.#range.keys !== undefined) return readKeys(blobs, this.#range.keys, [0, BUCKET_COUNT])
    const blob = temporaryKeyOf(job.id, 'met', parts.newId())
    await putKeys(blobs, blob, await newKeys(parts, job, this.#range.round, this.#target.buckets))
    const stored = await keep(this.#range, { keys: blob })
    if (stored === undefined) return undefined
    this.#range = stored
    return readKeys(blobs, blob, [0, BUCKET_COUNT])
  }

  /** Stores a checkpoint. Returns false if another writer stored one first. */
  async #checkpoint(isDone: boolean): Promise<boolean> {
    return this.#output.checkpoint(async (done) => {
      const stored = await this.#slice.keep(this.#range, { isDone, ...done })
      this.#range = stored ?? this.#range
      return stored !== undefined
    })
  }
}

/** Returns the distinct keys of the buckets, without those that earlier rounds of references have looked up. */
async function newKeys({ blobs }: ExportParts, job: Job, round: number, buckets: BucketRange): Promise<ReadonlySet<string>> {
  const blob = await blobs.get(roundSourceKeyOf(job, round))
  if (blob === undefined) throw new Error('the referenced keys of an export are missing')
  const { met, before } = JSON.parse(new TextDecoder().decode(blob.bytes)) as RoundSource
  const keys = new Set<string>()
  for (const each of met) for (const key of await readKeys(blobs, each, buckets)) keys.add(key)
  for (const each of before) for (const key of await readKeys(blobs, each, buckets)) keys.delete(key)
  return keys
}
