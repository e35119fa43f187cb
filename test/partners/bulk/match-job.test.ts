/** Machine faults at every call of a match. Its files equal the files of a match without a fault, and it stores one Group. */
import { describe, expect, it } from '@jest/globals'
import { resumeJobs } from '../../../lambdas/export/job/job-sweep.ts'
import { firstOfPart, partCountOf, storeRequestParts } from '../../../lambdas/export/match/request-parts.ts'
import type { ExportParts } from '../../../lambdas/export/step-types.ts'
import { exportStep } from '../../../lambdas/export/workflow/workflow-step.ts'
import { matchStore } from '../../../lambdas/interactions/operations/match-store.ts'
import type { SentMember } from '../../../lambdas/partners/bulk/bulk-input.ts'
import type { MatchRequest } from '../../../lambdas/partners/bulk/match-request.ts'
import { readDisclosures } from '../../../lambdas/partners/disclosures/disclosures.ts'
import { matchLimits } from '../../../lambdas/partners/guesses/match-limits.ts'
import type { ResourceWriter } from '../../../lambdas/ports/store/resource-store.ts'
import { extract } from '../../../lambdas/search/documents/extract.ts'
import { exportPartsOf, kickOff, readJob, runExportJob } from '../../export/export-run.ts'
import { Machine, type StepFault } from '../../export/machine.ts'
import { ExportWorld, jobOf, TEST_SEARCH_CONTEXT } from '../../fixtures/exporting.ts'
import { EXPRESSIONS } from '../../fixtures/expressions.ts'
import { caseCountOf, firstSeed } from '../../fixtures/long-runs.ts'
import { MemoryBlobs } from '../../fixtures/memory/blobs.ts'
import { MemoryGrants } from '../../fixtures/memory/grants.ts'
import { MemoryRows } from '../../fixtures/memory/kept-rows.ts'
import type { Tree } from '../../fixtures/resources.ts'
import { instantAt } from '../../fixtures/versions.ts'
import { ANN, BERT, bulkInput, membersBundle, OTHER, OWN, provisionFor } from '../payer-exchange.ts'

const NOW = 5

/** It covers the instant of the kick-off. */
const provision = { ...provisionFor(OTHER), period: { start: '1970-01-01', end: '2099-12-31' } }

/**
 * Two members are found, one is constrained, and all others are strangers. Four of them are wrong cards of one member that is found. The
 * members fill three parts.
 */
const SENT = sentMembers(
  Array.from({ length: 401 }, (_, i) => {
    if (i === 0) return { member: ANN, consent: { provision } }
    if (i === 250) return { member: BERT, consent: { provision } }
    if (i > 196 && i < 201) return { member: { ...BERT, card: `X${i}` }, consent: { provision } }
    return {
      member: { ...ANN, given: `Stranger${i}`, card: `X${i}` },
      consent: { provision, ...(i === 400 ? { status: 'rejected' } : {}) },
    }
  }),
)

function sentMembers(members: Parameters<typeof bulkInput>[0]): readonly SentMember[] {
  return bulkInput(members).parameter.map(({ part }: Tree) => ({
    ...{ patient: part[0].resource, coverage: part[1].resource, consent: part[2].resource },
  }))
}

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

async function openWorld(stored: readonly Tree[] = []): Promise<ExportWorld> {
  const world = await ExportWorld.open()
  await world.save(1, ...membersBundle().entry.map(({ resource }: Tree) => resource), ...stored)
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

/** `guesses`: guesses that were added to rows, and members that were counted. */
type Outcome = {
  readonly calls: number
  readonly files: readonly string[]
  readonly groups: readonly string[]
  readonly leftovers: number
  readonly disclosed: readonly string[]
  readonly guesses: readonly string[]
}

async function tried(fault: StepFault | undefined, at: number, sent = SENT, stored: readonly Tree[] = []): Promise<Outcome> {
  const world = await openWorld(stored)
  const [rows, blobs] = [new MemoryRows(), new MemoryBlobs()]
  const grants = new MemoryGrants(() => instantAt(NOW))
  const limits = matchLimits({ grants, now: () => instantAt(NOW), readKey: async () => Buffer.alloc(32), alert: () => undefined })
  const stores = { rows, blobs, index: world.index, resources: world.store }
  const whole = exportPartsOf(stores, { now: () => instantAt(NOW), matchLimits: limits })
  const job = jobOf(NOW, {
    id: 'job',
    kind: 'match',
    match: { ...MATCH, members: sent.length, settings: { ...MATCH.settings, reportOptOut: true } },
  })
  await kickOff(whole, job)
  await storeRequestParts(blobs, job.id, sent, () => undefined)
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
  const disclosed = []
  for await (const { outcome } of readDisclosures(blobs, {})) disclosed.push(outcome)
  const groups: string[] = []
  for await (const page of world.store.scan({
    tenant: 't',
    type: 'Group',
    asOf: instantAt(NOW + 100),
    until: instantAt(NOW + 100),
    limit: 10,
  }))
    for (const { id, versionId } of page.versions) groups.push(`${id} ${versionId}`)
  return { calls: broken.calls, files, groups, leftovers, disclosed, guesses: grants.values() }
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
      const { calls, files, guesses } = await tried(undefined, 0)
      const step = Math.ceil(calls / caseCountOf(6, 200))
      for (let call = 1 + (firstSeed() % step); call <= calls; call += step) {
        const outcome = await tried(fault, call)
        expect([call, outcome.groups, outcome.files, outcome.guesses]).toEqual([call, ['job 1'], files, guesses])
      }
    },
  )

  it('withholds a member if its card is guessed in the same request, and counts all members once', async () => {
    const guesses = ['A', 'B', 'C', 'D', 'E'].map((given) => ({ member: { ...BERT, given }, consent: { provision } }))
    const members = [{ member: ANN, consent: { provision } }, { member: BERT, consent: { provision } }, ...guesses]
    const outcome = await tried(undefined, 0, sentMembers(members))
    const groups = outcome.files[0]!.trim().split('\n').map((line) => JSON.parse(line)) // biome-ignore format: one line
    expect(groups.map(({ quantity }) => quantity)).toEqual([1, 6])
    expect(outcome.guesses).toContain(`{"entries":[{"members":7,"matched":1,"job":"job","at":${instantAt(NOW)}}]}`)
    expect(outcome.disclosed).toEqual(['matched', 'too many guesses', ...Array(5).fill('no match')])
  })

  it('does not report the denial of a member after too many guesses at the card', async () => {
    const denial = { ...SENT[0]!.consent, id: 'denial', patient: { reference: 'Patient/bert' }, provision: { type: 'deny' } }
    const guesses = ['A', 'B', 'C', 'D'].map((card) => ({ member: { ...BERT, card }, consent: { provision } }))
    const members = [{ member: BERT, consent: { provision } }, ...guesses]
    const disclosedTo = async (sent: typeof members) => (await tried(undefined, 0, sentMembers(sent), [denial as Tree])).disclosed
    expect(await disclosedTo(members.slice(0, 4))).toEqual(['denied', ...Array(3).fill('no match')])
    expect(await disclosedTo(members)).toEqual(['too many guesses', ...Array(4).fill('no match')])
  })

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
