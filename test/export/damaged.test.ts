/** Exports of a partly damaged store contain the rest, report each omission once, and reveal no content of damaged resources. */
import { describe, expect, it } from '@jest/globals'
import { type Access, accessOf, WHOLE_ACCESS } from '../../lambdas/access/access.ts'
import { type Job, segmentRowsOf } from '../../lambdas/export/job/job.ts'
import type { Selection } from '../../lambdas/export/select/selection.ts'
import type { ExportParts } from '../../lambdas/export/step-types.ts'
import { exportStep } from '../../lambdas/export/workflow/workflow-step.ts'
import { Omissions } from '../../lambdas/export/write/omissions.ts'
import { isFault, MachineFault } from '../../lambdas/ports/faults.ts'
import { ExportWorld, jobOf } from '../fixtures/exporting.ts'
import { MemoryRows } from '../fixtures/memory/kept-rows.ts'
import { observation, patient, referenceTo } from '../fixtures/resources.ts'
import { instantAt, patientKeyOf } from '../fixtures/versions.ts'
import { exportPartsOf, kickOff, readFileLines, readJob, runExportJob } from './export-run.ts'
import { Machine } from './machine.ts'
import { withLookupChoice } from './racing-world.ts'

const CANARY = 'Mrs. Canary'
const BROKEN = `{"resourceType":"Observation","note":"${CANARY}","subject":{"reference":"Patient/a"},"performer":[{"reference":"Organization/`

type Done = {
  readonly job: Job
  readonly ids: Readonly<Record<string, readonly string[]>>
  readonly told: readonly string[]
  readonly reported: readonly unknown[]
  readonly calls: number
}

/** `failing`: the call at which the machine fails once. Each step is retried. */
async function exported(world: ExportWorld, asked: Job, more: Partial<ExportParts> = {}, failing = 0): Promise<Done> {
  const reported: unknown[] = []
  const machine = new Machine('fails once, unheard', failing, async () => undefined)
  const stores = { rows: new MemoryRows(), blobs: world.blobs, resources: world.store, index: world.index }
  const parts = exportPartsOf(stores, { report: (error) => reported.push(error), ...more })
  await kickOff(parts, asked)
  await runExportJob(machine.parts(parts), asked, true)
  const job = await readJob(parts, asked.id)
  const { error = [], ...files } = await readFileLines(parts.blobs, job)
  expect(JSON.stringify([error, reported.map(String)])).not.toContain(CANARY)
  return {
    ...{ job, reported, calls: machine.calls },
    ids: Object.fromEntries(Object.entries(files).map(([name, lines]) => [name, lines.map((line) => JSON.parse(line).id).toSorted()])),
    told: error.map((line) => JSON.parse(line).issue[0].details.text),
  }
}

const damage = (name: string) => `${name} may be missing: what is stored of it is damaged`
const GROUP = { resourceType: 'Group', id: 'g', member: [{ entity: referenceTo('Patient/a') }, { entity: referenceTo('Patient/b') }] }

/** Creates a store with damaged resources of each kind. One was intact at 5, another has been since. */
async function damagedWorld(): Promise<ExportWorld> {
  const world = await ExportWorld.open()
  await world.save(1, GROUP, patient('a'), patient('b'), patient('c'), observation('sound', { subject: 'Patient/b' }))
  await world.save(2, ...['rotten', 'later', 'before'].map((id) => observation(id, { subject: 'Patient/a' })))
  await world.save(3, observation('gone', { subject: 'Patient/a' }))
  await world.remove(4, 'Observation/gone')
  await world.save(9, observation('later', { subject: 'Patient/a' }), observation('before', { subject: 'Patient/a' }))
  const damaged = [
    ['Patient/b', 1],
    ['Observation/rotten', 1],
    ['Observation/later', 2],
    ['Observation/before', 1],
    ['Observation/gone', 1],
  ] as const
  for (const [name, version] of damaged) world.damage(name, version, BROKEN)
  return world
}

const TOLD = ['Observation/before', 'Observation/rotten', 'Patient/b'].map(damage)

describe('An export of a store with damaged resources', () => {
  it.each([
    [
      'everything',
      jobOf(5, { level: 'system', asked: { types: ['Group', 'Observation', 'Patient'] } }),
      { Group: ['g'], Observation: ['later', 'sound'], Patient: ['a', 'c'] },
      undefined,
    ],
    [
      'all patients',
      jobOf(5, { level: 'patient', asked: { types: ['Observation', 'Patient'] } }),
      { Observation: ['later', 'sound'], Patient: ['a', 'c'] },
      undefined,
    ],
    ['a Group', jobOf(5, { group: 'g' }), { Observation: ['later', 'sound'], Patient: ['a'] }, false],
    ['a Group that is looked up', jobOf(5, { group: 'g' }), { Observation: ['later', 'sound'], Patient: ['a'] }, true],
  ])('has the other resources of %s and reports each damaged one once, whichever call fails', async (_, job, ids, isLookedUp) => {
    const world = await damagedWorld()
    const stores = { rows: new MemoryRows(), blobs: world.blobs, resources: world.counted(() => undefined), index: world.index }
    const more = isLookedUp === undefined ? {} : { resources: withLookupChoice(exportPartsOf(stores), isLookedUp).resources }
    const { calls } = await exported(world, job, more)
    for (let call = 0; call <= calls; call += isLookedUp ? 30 : 2) {
      const done = await exported(world, { ...job, id: `at-${call}` }, more, call)
      expect([done.job.state, done.ids, done.told]).toEqual(['complete', ids, TOLD])
      const damages = done.reported.filter((error) => isFault(error, 'store-damaged'))
      expect(damages.map(({ message }) => message)).toEqual([`The export at-${call} lacks what its file of errors names: 3 in all`])
    }
  })

  it.each(['all patients', 'those of a Group'])('names a damaged Patient that others refer to once: %s', async (of) => {
    const world = await ExportWorld.open()
    await world.save(
      1,
      GROUP,
      patient('a'),
      patient('z'),
      observation('1', { subject: 'Patient/a', performer: [referenceTo('Patient/z')] }),
    )
    world.damage('Patient/z', 1, BROKEN)
    const { ids, told } = await exported(
      world,
      of === 'all patients' ? jobOf(5, { level: 'patient', asked: { since: 0 } }) : jobOf(5, { group: 'g' }),
    )
    expect([ids.Observation, ids.Patient, told]).toEqual([['1'], ['a'], [damage('Patient/z')]])
  })

  it('names a damaged Patient that others refer to, even if other types were requested', async () => {
    const world = await ExportWorld.open()
    await world.save(
      1,
      GROUP,
      patient('a'),
      patient('z'),
      observation('1', { subject: 'Patient/a', performer: [referenceTo('Patient/z')] }),
    )
    world.damage('Patient/z', 1, BROKEN)
    const { told } = await exported(world, jobOf(5, { group: 'g', asked: { types: ['Observation'] } }))
    expect(told).toEqual([damage('Patient/z')])
  })

  it('reports a damaged deletion only if deletions were requested', async () => {
    const world = await ExportWorld.open()
    await world.save(1, patient('a'), patient('b'), observation('gone', { subject: 'Patient/a' }))
    await world.remove(3, 'Observation/gone')
    // The data of members added after _since is looked up.
    await world.save(4, GROUP)
    await world.save(9, observation('gone', { subject: 'Patient/a' }))
    world.damage('Observation/gone', 2, BROKEN)
    const stores = { rows: new MemoryRows(), blobs: world.blobs, resources: world.counted(() => undefined), index: world.index }
    const more = { resources: withLookupChoice(exportPartsOf(stores), true).resources }
    expect((await exported(world, jobOf(5, { group: 'g', asked: { since: instantAt(2), types: ['Observation'] } }), more)).told).toEqual([
      damage('Observation/gone'),
    ])
    expect((await exported(world, jobOf(5, { id: 'all', group: 'g', asked: { types: ['Observation'] } }), more)).told).toEqual([])
  })

  it('has the data of a damaged Patient only if the client may see all Patients', async () => {
    const world = await damagedWorld()
    const of = (...scopes: readonly string[]) =>
      exported(
        world,
        jobOf(5, {
          ...{ id: `of-${scopes.join('').length}`, level: 'patient', asked: { patients: ['Patient/b'], types: ['Observation'] } },
          access: accessOf({ scopes, isIdentified: true, isClientToken: true, patientScopesWithoutContext: 'all' }),
        }),
      )
    expect((await of('system/Observation.rs', 'system/Patient.rs')).ids).toEqual({ Observation: ['sound'] })
    const { ids, told } = await of('system/Observation.rs', 'system/Patient.rs?gender=male')
    expect([ids, told[0]]).toEqual([{}, 'Patient/b is not known'])
  })

  it('reports damaged resources only in scope, and their ids only with full access', async () => {
    const world = await damagedWorld()
    await world.save(1, { resourceType: 'Binary', id: 'z', contentType: 'text/plain' })
    world.damage('Binary/z', 1, BROKEN)
    const access = (...scopes: readonly string[]): Access =>
      accessOf({ scopes, isIdentified: true, isClientToken: true, patientScopesWithoutContext: 'all' })
    const toldTo = async (scopes: readonly string[], types?: readonly string[]) =>
      (await exported(world, jobOf(5, { level: 'system', access: access(...scopes), asked: types === undefined ? {} : { types } }))).told
    expect(await toldTo(['system/Observation.rs?code=x', 'system/Patient.rs'])).toEqual([
      damage('A resource of type Observation'),
      damage('Patient/b'),
    ])
    expect(await toldTo(['system/Patient.rs'])).toEqual([damage('Patient/b')])
    expect(await toldTo(['system/*.rs'], ['Observation'])).toEqual(TOLD.slice(0, 2))
    expect(await toldTo(['system/Group.rs'])).toEqual([])
    expect(await toldTo(['system/Observation.r', 'system/Observation.s?code=x'])).toEqual([damage('A resource of type Observation')])
    // Only a client with full access finds a Binary.
    expect([await toldTo(['system/Binary.rs']), await toldTo(['system/*.rs'], ['Binary'])]).toEqual([[], [damage('Binary/z')]])
  })

  it.each([{ elements: [{ element: 'status' }] }, { filters: [{ type: 'Observation', query: 'status=final' }] }])(
    'reports invalid JSON that no checksum detected: %j',
    async (asked) => {
      const world = await ExportWorld.open()
      await world.save(1, observation('1'), observation('2'))
      world.damage('Observation/2', 1, BROKEN, false)
      const { ids, told } = await exported(world, jobOf(5, { level: 'system', asked }))
      expect([ids, told]).toEqual([{ Observation: ['1'] }, [damage('Observation/2')]])
    },
  )

  it('reports a resource with unreadable references, and one about a damaged resource', async () => {
    const world = await ExportWorld.open()
    const provenance = { resourceType: 'Provenance', id: 'of-2', target: [referenceTo('Observation/2')] }
    await world.save(1, patient('a'), observation('1', { subject: 'Patient/a' }), observation('2', { subject: 'Patient/a' }), provenance)
    await world.save(1, observation('3', { subject: 'Patient/a' }))
    world.damage('Observation/2', 1, BROKEN)
    world.damage('Observation/3', 1, BROKEN, false)
    const additionalResources = {
      Observation: [
        { path: '$.performer[*].reference', allowedForGroupExport: true, allowedForPatientExport: true, resourceTypes: ['Organization'] },
      ],
    }
    const { ids, told } = await exported(world, jobOf(5, { level: 'patient' }), { additionalResources })
    expect(ids).toEqual({ Observation: ['1'], Patient: ['a'] })
    expect(told).toEqual([damage('Observation/2'), damage('Observation/3'), damage('Provenance/of-2')])
  })
})

describe('The number of omissions', () => {
  const lineOf = (n: number): string => `{"resourceType":"OperationOutcome","n":${n}}\n`

  it.each([
    [5_000, 'complete'],
    [5_001, 'error'],
  ])('is limited over all writers together: two with %d each', async (each, state) => {
    const world = await ExportWorld.open()
    const parts = exportPartsOf({ rows: new MemoryRows(), blobs: world.blobs, resources: world.store, index: world.index })
    const job = jobOf(5, { level: 'system', asked: { types: ['Patient'] } })
    await kickOff(parts, job)
    await exportStep(parts)({ action: 'plan', job: job.id, attempt: 1 })
    const { plan } = await readJob(parts, job.id)
    for (const writer of [0, 1]) {
      const bytes = Buffer.from(Array.from({ length: each }, (_, n) => lineOf(writer * each + n)).join(''))
      const key = `exports/${job.id}/tails/${writer}`
      await parts.blobs.put(key, { bytes, contentType: 'application/octet-stream' })
      const files = { 'left-out': { parts: [], count: each, size: bytes.length } }
      await parts.rows.change<object>(segmentRowsOf(job.id), `${plan}-${writer}`, (known) => ({
        ...known,
        ...{ isDone: true, written: { files, tails: [{ key, of: { 'left-out': [0, bytes.length] } }] } },
      }))
    }
    await exportStep(parts)({ action: 'finish', job: job.id, attempt: 1 })
    expect((await readJob(parts, job.id)).state).toBe(state)
  })
})

describe('An export that cannot determine the damaged resources', () => {
  const over = (world: ExportWorld, of: Partial<ExportParts['resources']>) => ({ resources: { ...world.counted(() => undefined), ...of } })

  it('fails with the reason, and leaves nothing', async () => {
    const world = await damagedWorld()
    const broken = over(world, {
      async *scan(request) {
        if (request.type === 'Patient') throw new MachineFault('store-damaged', 'the store is damaged: it is malformed')
        yield* world.store.scan(request)
      },
    })
    const { job, reported } = await exported(world, jobOf(5, { level: 'system', asked: { types: ['Patient'] } }), broken)
    expect(job).toMatchObject({ state: 'error', reason: expect.stringContaining('what is stored is damaged') })
    expect(reported.map(String)).toEqual(['Damaged: the store is damaged: it is malformed'])
    for await (const { key } of world.blobs.list('exports/')) expect(key).toBe('none')
  })

  it('fails if the Group is damaged', async () => {
    const world = await damagedWorld()
    world.damage('Group/g', 1, BROKEN)
    const { job } = await exported(world, jobOf(5, { group: 'g' }))
    expect(job).toMatchObject({ state: 'error', reason: expect.stringContaining('What is stored of the Group') })
  })

  it('fails if more than 10,000 resources are damaged', () => {
    let count = 0
    const writer = { add: () => void count++, countOf: () => count }
    const job = jobOf(5, { level: 'system' })
    const judge = { access: WHOLE_ACCESS, reading: {} }
    const left = new Omissions(writer, { job, judge, types: new Set(['Patient']) } as unknown as Selection)
    for (let n = 0; n < 10_000; n++) left.add(patientKeyOf(`${n}`), 'damaged')
    left.add(patientKeyOf('0'), 'damaged')
    expect(() => left.add(patientKeyOf('10000'), 'damaged')).toThrow('More than 10000 resources cannot be exported')
  })
})
