/** Candidates of an export of few patients, from a long history. */
import { describe, expect, it } from '@jest/globals'
import { collectHistoryCandidates } from '../../../lambdas/export/collect/patient-candidates.ts'
import { newRange, type Range, ROUNDS } from '../../../lambdas/export/collect/range.ts'
import type { RangeSlice } from '../../../lambdas/export/collect/range-slice.ts'
import { BUCKET_COUNT, readKeys } from '../../../lambdas/export/write/key-buckets.ts'
import type { HistoryPosition, ResourceVersion } from '../../../lambdas/ports/store/resource-store.ts'
import { jobOf } from '../../fixtures/exporting.ts'
import { MemoryBlobs } from '../../fixtures/memory/blobs.ts'

const ALL = 4_500
const JOB = jobOf(1)
/** End of the index search. All versions are later. */
const SEARCHED = JOB.transactionTime + 1

/** History, the newest version first. */
const VERSIONS = Array.from({ length: ALL }, (_, i) => ({
  type: 'Observation',
  id: `o${ALL - i}`,
  versionId: 1,
  lastUpdated: SEARCHED + ALL - i,
}))

const pageAfter = (after: HistoryPosition | undefined, limit: number) => {
  const first = after === undefined ? 0 : VERSIONS.findIndex(({ id }) => id === after.id) + 1
  const versions = VERSIONS.slice(first, first + limit) as unknown as readonly ResourceVersion[]
  return { versions, more: first + limit < ALL }
}

/** `pages`: pages that a slice reads. `wanted`: pages after which the job is stopped. */
function sliceOf({ pages = Infinity, wanted = Infinity } = {}) {
  let read = 0
  let time = SEARCHED + 100_000
  const kept: Range[] = []
  const blobs = new MemoryBlobs()
  const history = async (_: unknown, __: unknown, after: HistoryPosition | undefined, limit: number) => {
    read++
    return pageAfter(after, limit)
  }
  const parts = {
    ...{ blobs, resources: { history, settled: async () => true }, now: () => time++ },
    ...{ elapsed: () => (read >= pages ? 1 : 0), newId: () => crypto.randomUUID() },
  }
  const slice = {
    ...{ parts, job: JOB, until: 1, watch: { isWanted: async () => read < wanted } },
    selection: { types: new Set(['Observation']), ownership: { levelTypes: new Set(['Observation']) } },
    keep: async (before: Range, change: Partial<Range>) => {
      kept.push({ ...before, ...change })
      return kept.at(-1)
    },
  } as unknown as RangeSlice
  return { slice, kept, blobs, pagesRead: () => read }
}

const START = newRange(ROUNDS.history, { kind: 'history', from: SEARCHED })

const keysIn = async (blobs: MemoryBlobs, range: Range): Promise<ReadonlySet<string>> =>
  new Set((await Promise.all(range.met.map((blob) => readKeys(blobs, blob, [0, BUCKET_COUNT])))).flat())

describe('the history of an export of few patients', () => {
  it('is read again from the end of the index search, in slices', async () => {
    const { slice, kept, blobs, pagesRead } = sliceOf({ pages: 7 })
    expect(await collectHistoryCandidates(slice, START, SEARCHED)).toBe(true)
    expect([pagesRead(), JSON.parse(kept.at(-1)!.cursor!)]).toEqual([7, expect.objectContaining({ id: 'o2501', isLatest: true })])
    const next = sliceOf()
    expect(await collectHistoryCandidates(next.slice, kept.at(-1)!, SEARCHED)).toBe(false)
    expect([next.pagesRead(), next.kept.at(-1)!.isDone, (await keysIn(blobs, kept.at(-1)!)).size]).toEqual([3, true, ALL])
  })

  it('is not read further after the job is stopped', async () => {
    const { slice, kept, pagesRead } = sliceOf({ wanted: 6 })
    expect(await collectHistoryCandidates(slice, START, SEARCHED)).toBe(false)
    expect([pagesRead(), kept]).toEqual([6, []])
  })
})
