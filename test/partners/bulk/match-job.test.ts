/** Machines fail at every call of a match. Its files are those of a match without a fault, and there is one Group. */
import { describe, expect, it } from '@jest/globals'
import { resumeJobs } from '../../../lambdas/export/job/job-sweep.ts'
import { firstOfPart, partCountOf, storeRequestParts } from '../../../lambdas/export/match/request-parts.ts'
import type { ExportParts } from '../../../lambdas/export/step-types.ts'
import { exportStep } from '../../../lambdas/export/workflow/workflow-step.ts'
import { matchStore } from '../../../lambdas/interactions/operations/match-store.ts'
import type { SentMember } from '../../../lambdas/partners/bulk/bulk-input.ts'
import type { MatchRequest } from '../../../lambdas/partners/bulk/match-request.ts'
import type { ResourceWriter } from '../../../lambdas/ports/store/resource-store.ts'
import { extract } from '../../../lambdas/search/documents/extract.ts'
import { exportPartsOf, kickOff, readJob, runExportJob } from '../../export/export-run.ts'
import { Machine, type StepFault } from '../../export/machine.ts'
import { ExportWorld, jobOf, TEST_SEARCH_CONTEXT } from '../../fixtures/exporting.ts'
import { EXPRESSIONS } from '../../fixtures/expressions.ts'
import { caseCountOf, firstSeed } from '../../fixtures/long-runs.ts'
import { MemoryBlobs } from '../../fixtures/memory/blobs.ts'
import { MemoryRows } from '../../fixtures/memory/kept-rows.ts'
import type { Tree } from '../../fixtures/resources.ts'
import { instantAt } from '../../fixtures/versions.ts'
import { ANN, BERT, bulkInput, membersBundle, OTHER, OWN, provisionFor } from '../payer-exchange.ts'

const NOW = 5

/** It covers the instant of the kick-off. */
const provision = { ...provisionFor(OTHER), period: { start: '1970-01-01', end: '2099-12-31' } }

/** Two members are found, one is constrained, and all others are strangers. The members fill three parts. */
const SENT: readonly SentMember[] = bulkInput(
  Array.from({ length: 401 }, (_, i) => {
    if (i === 0) return { member: ANN, consent: { provision } }
    if (i === 250) return { member: BERT, consent: { provision } }
    return { member: { ...ANN, given: `Stranger${i}` }, consent: { provision, ...(i === 400 ? { status: 'rejected' } : {}) } }
  }),
).parameter.map(({ part }: Tree) => ({ patient: part[0].resource, coverage: part[1].resource, consent: part[2].resource }))

const MATCH: MatchRequest = {
  kind: 'payer',
  identifiers: [OTHER],
  members: SENT.length,
  settings: {
    ...{ payer: [OWN], organizationName: 'Payer', sensitiveLabels: 'none', longest: 366 * 86_400_000 },
    ...{ reportOptOut: false, treatment: 'attested' },
  },
}

const idle = { start: async () => {}, stop: async () => {}, isRunning: async () => false }

async function openWorld(): Promise<ExportWorld> {
  const world = await ExportWorld.open()
  await world.save(1, ...membersBundle().entry.map(({ resource }: Tree) => resource))
  return world
}

/** Returns the parts of a machine. Its store is also that of the writer. */
function partsOf(whole: ExportParts, world: ExportWorld, machine: Machine): ExportParts {
  const parts = machine.parts(whole)
  const store = parts.resources as ExportParts['resources'] & ResourceWriter
  const ports = {
    ...{
      rows: parts.rows,
      heads: store.heads,
      expressions: EXPRESSIONS,
      profiled: () => [],
      clock: { now: () => instantAt(NOW), newId: () => 'new' },
    },
    progress: { status: unexpected, parameters: unexpected },
    writer: {
      async commit(writes: Parameters<ResourceWriter['commit']>[0]) {
        const result = await store.commit(writes, [])
        if (result.kind === 'committed')
          world.index.applyNow(
            writes.map((each) =>
              extract({ ...each, versionId: each.expected + 1 }, JSON.parse(new TextDecoder().decode(each.body)), TEST_SEARCH_CONTEXT),
            ),
          )
        return result
      },
    },
  }
  return { ...parts, storeMatch: matchStore(ports, async () => TEST_SEARCH_CONTEXT) }
}

const unexpected = () => Promise.reject(new Error('not asked'))

type Outcome = { readonly calls: number; readonly files: readonly string[]; readonly groups: readonly string[]; readonly leftovers: number }

async function tried(fault: StepFault | undefined, at: number): Promise<Outcome> {
  const world = await openWorld()
  const [rows, blobs] = [new MemoryRows(), new MemoryBlobs()]
  const whole = exportPartsOf({ rows, blobs, index: world.index, resources: world.store }, { now: () => instantAt(NOW) })
  const job = jobOf(NOW, { id: 'job', kind: 'match', match: MATCH })
  await kickOff(whole, job)
  await storeRequestParts(blobs, job.id, SENT, () => undefined)
  const broken = new Machine(fault, at, async () => undefined)
  const mender = new Machine(undefined, 0, async (calls) => void (calls === 10 && broken.goOn()))
  const ended = runExportJob(partsOf(whole, world, broken), job, fault?.startsWith('fails once') === true).catch(() => undefined)
  await (fault === 'hangs' ? Promise.race([broken.reached, ended]) : ended)
  for (let tries = 0; (await readJob(whole, job.id)).state === 'in-progress'; tries++) {
    expect(tries).toBeLessThan(3)
    await resumeJobs(mender.parts(whole), idle)
    await runExportJob(partsOf(whole, world, mender), await readJob(whole, job.id)).catch(() => undefined)
  }
  broken.goOn()
  await ended
  const done = await readJob(whole, job.id)
  expect(done.state).toBe('complete')
  const files: string[] = []
  for (const { name } of done.files ?? [])
    files.push(new TextDecoder().decode((await blobs.get(`exports/job/files/${name}.ndjson`))?.bytes))
  let leftovers = 0
  for await (const { key } of blobs.list('exports/job/')) if (!key.includes('/files/')) leftovers++
  const groups: string[] = []
  for await (const page of world.store.scan({
    tenant: 't',
    type: 'Group',
    asOf: instantAt(NOW + 100),
    until: instantAt(NOW + 100),
    limit: 10,
  }))
    for (const { id, versionId } of page.versions) groups.push(`${id} ${versionId}`)
  return { calls: broken.calls, files, groups, leftovers }
}

describe('A match', () => {
  it('stores one Group, and removes the request', async () => {
    const { files, groups, leftovers } = await tried(undefined, 0)
    expect([groups, leftovers]).toEqual([['job 1'], 0])
    const sent = files[0]!
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(sent.map(({ quantity }) => quantity)).toEqual([2, 398, 1])
  })

  it.each<StepFault>(['dies before', 'dies after', 'hangs', 'fails once', 'fails once, unheard'])(
    'has the same files and one Group if a machine %s',
    async (fault) => {
      const { calls, files } = await tried(undefined, 0)
      const step = Math.ceil(calls / caseCountOf(6, 200))
      for (let call = 1 + (firstSeed() % step); call <= calls; call += step) {
        const outcome = await tried(fault, call)
        expect([call, outcome.groups, outcome.files]).toEqual([call, ['job 1'], files])
      }
    },
  )

  it('is not finished before all parts are decided', async () => {
    const world = await openWorld()
    const [rows, blobs] = [new MemoryRows(), new MemoryBlobs()]
    const whole = exportPartsOf({ rows, blobs, index: world.index, resources: world.store }, { now: () => instantAt(NOW) })
    await kickOff(whole, jobOf(NOW, { id: 'job', kind: 'match', match: MATCH }))
    await storeRequestParts(blobs, 'job', SENT, () => undefined)
    await expect(exportStep(whole)({ job: 'job', attempt: 1, action: 'finish' })).rejects.toThrow('finish')
  })

  it('waits for the last part of the request, and fails if it never comes', async () => {
    const world = await openWorld()
    let now = instantAt(NOW)
    const stores = { rows: new MemoryRows(), blobs: new MemoryBlobs(), index: world.index, resources: world.store }
    const whole = exportPartsOf(stores, { now: () => now })
    await kickOff(whole, jobOf(NOW, { id: 'job', kind: 'match', match: MATCH }))
    await storeRequestParts(stores.blobs, 'job', SENT.slice(0, firstOfPart(partCountOf(SENT.length) - 1)), () => undefined)
    const plan = () => exportStep(whole)({ job: 'job', attempt: 1, action: 'plan' })
    expect(await plan()).toEqual(expect.objectContaining({ wait: 1, segments: [] }))
    now += 120_001
    await plan()
    expect((await readJob(whole, 'job')).state).toBe('error')
  })
})
