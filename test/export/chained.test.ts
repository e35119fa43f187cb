/** Consecutive exports, each since the transaction time of the previous one, together equal the store, deletions included. */
import { expect, it } from '@jest/globals'
import { SqliteSearchIndex } from '../../lambdas/adapters/sqlite-index/search-index.ts'
import { runAtEnd } from '../fixtures/at-end.ts'
import { jobOf } from '../fixtures/exporting.ts'
import { MemoryBlobs } from '../fixtures/memory/blobs.ts'
import { MemoryRows } from '../fixtures/memory/kept-rows.ts'
import { exportPartsOf, kickOff, readFileLines, readJob, runExportJob } from './export-run.ts'
import { Machine } from './machine.ts'
import { expectedOf, Ward, withSmallSegments } from './ward.ts'

const index = new SqliteSearchIndex(':memory:')
runAtEnd(() => index.close())

it('a copy that applies each export in turn equals the store', async () => {
  await using ward = await Ward.open(3)
  const parts = exportPartsOf({ rows: new MemoryRows(), blobs: new MemoryBlobs(), index, resources: withSmallSegments(ward.store) })
  const copy = new Map<string, string>()
  let since: number | undefined
  for (let n = 0; n < 4; n++) {
    for (let changes = 0; changes < 8; changes++) await ward.change()
    const job = jobOf(ward.now, { id: `j${n}`, level: 'system', asked: since === undefined ? {} : { since } })
    await kickOff(parts, job)
    await runExportJob(new Machine(undefined, 0, (calls) => (calls % 9 === 0 ? ward.change() : Promise.resolve())).parts(parts), job)
    const { deleted = [], ...lines } = await readFileLines(parts.blobs, await readJob(parts, job.id))
    for (const { request } of deleted.flatMap((line) => JSON.parse(line).entry)) copy.delete(request.url)
    for (const line of Object.values(lines).flat()) copy.set(nameOf(line), line)
    const { lines: all } = await expectedOf(ward, { ...job, asked: jobOf(ward.now).asked })
    expect([...copy.values()].toSorted()).toEqual(Object.values(all).flat().toSorted())
    since = job.transactionTime
  }
})

const nameOf = (line: string): string => {
  const { resourceType, id } = JSON.parse(line)
  return `${resourceType}/${id}`
}
