/** Patients of an export: the members of its Group as of the transaction time, and patients requested by id. */
import { beforeEach, describe, expect, it } from '@jest/globals'
import { accessOf } from '../../../lambdas/access/access.ts'
import { ExportFault } from '../../../lambdas/export/job/export-fault.ts'
import { type ExportPatients, findExportPatients, messagesOf } from '../../../lambdas/export/plan/group-members.ts'
import { readPlan, storePlan } from '../../../lambdas/export/plan/stored-plan.ts'
import type { ResourceKey } from '../../../lambdas/ports/store/resource-store.ts'
import { ExportWorld, jobOf } from '../../fixtures/exporting.ts'
import { MemoryBlobs } from '../../fixtures/memory/blobs.ts'
import { patient, referenceTo, type Tree } from '../../fixtures/resources.ts'
import { instantAt } from '../../fixtures/versions.ts'

const member = (reference: string, fields: object = {}): Tree => ({ entity: referenceTo(reference), ...fields })
const group = (id: string, ...members: readonly Tree[]): Tree => ({
  resourceType: 'Group',
  id,
  type: 'person',
  actual: true,
  member: members,
})
const ofClient = (...scopes: readonly string[]) =>
  accessOf({ scopes, isIdentified: false, isClientToken: true, patientScopesWithoutContext: 'all' })

let world: ExportWorld
beforeEach(async () => {
  world = await ExportWorld.open()
})

const membersAt = (when: number, asked: object = {}): Promise<ExportPatients | undefined> =>
  findExportPatients(world.store, world.judge(), jobOf(when, { group: 'g', asked }))
const patientsAt = async (when: number, asked: object = {}): Promise<readonly string[]> => (await membersAt(when, asked))!.patients

describe('The members of a Group', () => {
  it('are its Patients on this server, each once', async () => {
    const versioned = 'http://a.example/fhir/Patient/2/_history/3'
    await world.save(1, group('g', member('Patient/1'), member(versioned), member('Patient/1'), member('http://b.example/Patient/3')))
    expect(await membersAt(2)).toEqual({
      patients: ['Patient/1', 'Patient/2'],
      added: [],
      outside: [],
      passedOver: ['1 member of Group/g is not exported: it is neither a Patient nor a Group of this server (http://b.example/Patient/3)'],
    })
  })

  it('are reported in one text if omitted; too many Groups are a permanent fault', async () => {
    const odd = Array.from({ length: 20_000 }, () => member('Practitioner/1'))
    await world.save(1, { ...group('g'), member: [...odd, member('Patient/1')] })
    const { patients, passedOver } = (await membersAt(2))!
    expect([patients, passedOver]).toEqual([
      ['Patient/1'],
      ['20000 members of Group/g are not exported: they are neither Patients nor Groups of this server (Practitioner/1)'],
    ])
    await world.save(3, { ...group('g'), member: Array.from({ length: 10_001 }, (_, i) => member(`Group/${i}`)) })
    await expect(membersAt(4)).rejects.toThrow('or are more than 10000 Groups')
  })

  it('are those of the version at the transaction time', async () => {
    await world.save(1, group('g', member('Patient/1')))
    await world.save(3, group('g', member('Patient/2')))
    await world.remove(5, 'Group/g')
    expect([await patientsAt(2), await patientsAt(3), await patientsAt(4)]).toEqual([['Patient/1'], ['Patient/2'], ['Patient/2']])
  })

  it('cannot be resolved if the Group did not exist or was deleted', async () => {
    await world.save(2, group('g'))
    await world.remove(4, 'Group/g')
    await expect(membersAt(1)).rejects.toThrow(ExportFault)
    await expect(membersAt(4)).rejects.toThrow(ExportFault)
    expect(await patientsAt(3)).toEqual([])
  })

  it('are active, with a period that covers the transaction time', async () => {
    const period = (start?: number, end?: number) => ({
      period: {
        ...(start === undefined ? {} : { start: new Date(instantAt(start)).toISOString() }),
        ...(end === undefined ? {} : { end: new Date(instantAt(end)).toISOString() }),
      },
    })
    await world.save(
      1,
      group(
        'g',
        member('Patient/inactive', { inactive: true }),
        member('Patient/active', { inactive: false }),
        member('Patient/begun', period(5)),
        member('Patient/to-come', period(6)),
        member('Patient/ended', period(0, 4)),
        member('Patient/ending', period(0, 5)),
        member('Patient/of-the-day', { period: { start: '2024-02-29', end: '2024-02-29' } }),
        member('Patient/of-the-year-before', { period: { end: '2023' } }),
      ),
    )
    expect(await patientsAt(5)).toEqual(['Patient/active', 'Patient/begun', 'Patient/ending', 'Patient/of-the-day'])
  })

  it('include those of nested Groups, four levels deep, also in cycles', async () => {
    const chain = [1, 2, 3, 4, 5].map((n) => group(`${n}`, member(`Patient/${n}`), member(`Group/${n + 1}`)))
    await world.save(1, group('g', member('Group/1'), member('Group/g'), member('Group/none')), ...chain)
    expect(await membersAt(2)).toEqual({
      patients: ['Patient/1', 'Patient/2', 'Patient/3', 'Patient/4'],
      added: [],
      outside: [],
      passedOver: ['Group/none, a member, is not known', 'Group/5 is nested deeper than 4 Groups'],
    })
  })

  it('are counted and named in at most a hundred texts if they are omitted', async () => {
    const odd = Array.from({ length: 12 }, (_, i) => member(`urn:uuid:${i}`))
    await world.save(1, group('g', member('Device/1'), member('Device/1'), { entity: { display: 'Ann' } }, ...odd))
    expect((await membersAt(2))!.passedOver).toEqual([
      `15 members of Group/g are not exported: they are neither Patients nor Groups of this server (Device/1, no reference, ${odd
        .slice(0, 8)
        .map(({ entity }) => entity.reference)
        .join(', ')} and 4 more)`,
    ])
    await world.save(3, group('g', ...Array.from({ length: 150 }, (_, i) => member(`Group/${i}`))))
    const messages = messagesOf((await membersAt(4))!)
    expect([messages.length, messages.at(-1)]).toEqual([101, '50 further messages are omitted'])
  })

  it('are marked as added if they joined after _since', async () => {
    await world.save(1, group('g', member('Patient/1'), member('Group/1')), group('1', member('Patient/2')))
    await world.save(3, group('1', member('Patient/2'), member('Patient/3')))
    expect((await membersAt(4, { since: instantAt(2) }))!.added).toEqual(['Patient/3'])
    expect((await membersAt(4, { since: instantAt(3) }))!.added).toEqual([])
    expect((await membersAt(4, { since: instantAt(0) }))!.added).toEqual(['Patient/1', 'Patient/2', 'Patient/3'])
  })

  it('are limited to the requested patients; others are reported', async () => {
    await world.save(1, group('g', member('Patient/1'), member('Patient/2')))
    expect(await membersAt(2, { patients: ['Patient/2', 'Patient/9'] })).toEqual({
      patients: ['Patient/2'],
      ...{ added: [], outside: ['Patient/9'], passedOver: [] },
    })
    expect(messagesOf({ outside: ['Patient/9'], passedOver: ['first'] })).toEqual(['first', 'Patient/9 is no member of the Group'])
  })

  it('can be fifty thousand, with one read of the Group and one parse', async () => {
    await world.save(1, group('g', ...Array.from({ length: 50_000 }, (_, i) => member(`Patient/${i}`))))
    let reads = 0
    const counted = {
      heads(keys: readonly ResourceKey[]) {
        reads++
        return world.store.heads(keys)
      },
      versions: world.store.versions,
      history: world.store.history,
    }
    const members = await findExportPatients(counted, world.judge(), jobOf(2, { group: 'g' }))
    expect([members!.patients.length, reads]).toEqual([50_000, 1])
    const blobs = new MemoryBlobs()
    await storePlan(blobs, { job: 'j', plan: 'p' }, members)
    const setOf = ({ patients }: ExportPatients): ReadonlySet<string> => new Set(patients)
    const [one, other] = await Promise.all([1, 2].map(() => readPlan(blobs, { job: 'j', plan: 'p' }, setOf)))
    expect([one, one!.size, blobs.gets]).toEqual([other, 50_000, 1])
  })
})

describe('A Group out of scope of the token', () => {
  it('is read with the access to Groups of the job, and so are nested Groups', async () => {
    await world.save(1, group('g', member('Patient/1'), member('Group/in'), member('Group/other')))
    await world.save(1, group('in', member('Patient/2')), group('other', member('Patient/3')))
    const judge = world.judge(ofClient('system/Observation.rs'))
    const job = jobOf(2, { group: 'g' })
    await expect(findExportPatients(world.store, judge, job)).rejects.toThrow('The Group was deleted, or the client may not read it')
    const groupAccess = ofClient('system/Group.r?_id=g,in')
    expect(await findExportPatients(world.store, judge, { ...job, groupAccess })).toEqual({
      patients: ['Patient/1', 'Patient/2'],
      added: [],
      outside: [],
      passedOver: ['Group/other, a member, is not known'],
    })
  })
})

describe('Patients that are requested by id', () => {
  it('are those that exist; missing and hidden ones are reported alike', async () => {
    await world.save(1, patient('1'), patient('2'), patient('3'))
    await world.remove(2, 'Patient/2')
    const job = jobOf(3, { level: 'patient', asked: { patients: ['Patient/1', 'Patient/2', 'Patient/9'] } })
    expect(await findExportPatients(world.store, world.judge(), job)).toEqual({
      patients: ['Patient/1'],
      added: [],
      outside: [],
      passedOver: ['Patient/2 is not known', 'Patient/9 is not known'],
    })
    const hidden = await findExportPatients(world.store, world.judge(ofClient('system/Observation.rs')), job)
    expect(hidden).toMatchObject({
      patients: [],
      passedOver: ['Patient/1 is not known', 'Patient/2 is not known', 'Patient/9 is not known'],
    })
  })

  it('are read at most ten at once, since each can be large', async () => {
    const patients = Array.from({ length: 45 }, (_, i) => `Patient/${i}`)
    const asked: number[] = []
    const heads = async (keys: readonly ResourceKey[]) => {
      asked.push(keys.length)
      return world.store.heads(keys)
    }
    const { versions, history } = world.store
    await findExportPatients({ heads, versions, history }, world.judge(), jobOf(3, { level: 'patient', asked: { patients } }))
    expect([asked.reduce((sum, count) => sum + count), Math.max(...asked)]).toEqual([45, 10])
  })

  it('are not restricted if none is named', async () => {
    expect(await findExportPatients(world.store, world.judge(), jobOf(3, { level: 'patient' }))).toBeUndefined()
  })
})
