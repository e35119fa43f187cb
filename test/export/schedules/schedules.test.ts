/** Scheduled exports: their caller, their start, their _since, and the report of failed ones. Specification 4.5, 5.2 */
import { beforeEach, describe, expect, it } from '@jest/globals'
import { WHOLE_ACCESS } from '../../../lambdas/access/access.ts'
import { JOB_ROWS, type Job } from '../../../lambdas/export/job/job.ts'
import { RESTORED_STORE_REASON, UNAVAILABLE_REASON } from '../../../lambdas/export/job/job-failure.ts'
import {
  findScheduleProblems,
  removeObsoleteSchedules,
  SCHEDULE_ROWS,
  type ScheduledExport,
  type ScheduleEvent,
  type StoredSchedule,
} from '../../../lambdas/export/schedules/schedules.ts'
import { exportingSteps } from '../../../lambdas/http/pipelines/exporting.ts'
import { visibleStoreOf } from '../../../lambdas/interactions/visible-store.ts'
import type { Client } from '../../../lambdas/ports/rows/clients.ts'
import type { AuditRecord } from '../../../lambdas/ports/security/audit-log.ts'
import type { ResourceKey } from '../../../lambdas/ports/store/resource-store.ts'
import { scheduledExportStarter } from '../../../lambdas/runtime/aws/scheduled-export.ts'
import { readConfig } from '../../../lambdas/runtime/config.ts'
import { MemoryRows } from '../../fixtures/memory/kept-rows.ts'

const BASE = 'https://fhir.example.org/fhir'
const NOW = Date.UTC(2031, 0, 1)
const HOUR = 3_600_000
const DAY = 24 * HOUR
const DAILY: ScheduledExport = { name: 'nightly', client: 'etl', tenant: 'north', level: 'system', sinceLast: true }

const ETL: Client = {
  ...{ id: 'etl', name: 'ETL', authentication: { kind: 'keys', keys: [] }, scopes: ['system/*.rs'], redirectUris: [], tenants: ['north'] },
  ...{ mayIntrospect: false, registeredAt: 1, changedAt: 1 },
}

type Site = ReturnType<typeof site>

function site(environment: Record<string, string> = {}) {
  const rows = new MemoryRows()
  const it = {
    rows,
    now: NOW,
    client: ETL as Client | undefined,
    epoch: 0,
    /** Milliseconds that each reading of the clock takes. */
    step: 0,
    told: [] as string[],
    /** Promises that consecutive lookups of the client wait for. */
    waits: [] as Promise<void>[],
    audited: [] as AuditRecord[],
    broken: undefined as Error | undefined,
    /** Calls the schedule at `hours` after the start. */
    call: (hours: number, schedule: ScheduledExport = DAILY, only: Pick<ScheduleEvent, 'only'> = {}) => {
      it.now = Math.max(it.now, NOW + hours * HOUR + 5_000)
      return begin({ schedule, time: new Date(NOW + hours * HOUR).toISOString().replace('.000', ''), ...only })
    },
    jobs: async () => {
      const jobs: Job[] = []
      for await (const { value } of rows.list<Job>(JOB_ROWS)) jobs.push(value)
      return jobs
    },
    end: (id: string, state: Job['state']) => rows.change<Job>(JOB_ROWS, id, (job) => ({ ...job!, state, ended: it.now })),
    watch: (late = 48 * HOUR) => findScheduleProblems(rows, [{ name: 'nightly', late }], it.now),
  }
  const clock = { now: () => (it.now += it.step), newId: () => 'request-id' }
  const choices = readConfig({ FHIR_TENANCY: 'on', ...environment })
  const workflow = {
    start: async (name: string, input: object) => {
      if (it.broken !== undefined) throw it.broken
      it.told.push(`${name} ${JSON.stringify(input)}`)
    },
    stop: async () => undefined,
    isRunning: async () => false,
  }
  const nothing = async () => []
  const current = async (keys: readonly ResourceKey[]) => keys.map(() => undefined)
  const begin = scheduledExportStarter({
    clients: {
      async get(id) {
        await it.waits.shift()
        return id === it.client?.id ? it.client : undefined
      },
    },
    isDecidable: async (_, __, query) => query !== 'subject.name=x',
    resources: visibleStoreOf({ current, versions: nothing, history: async () => ({ versions: [], more: false }) }, () => ({
      evaluate: () => Promise.reject(new Error('not asked')),
    })),
    ...{ clock, choices },
    get exports() {
      return { rows, workflow, settings: { groupTypes: [], additionalResources: {} }, epoch: it.epoch, report: () => undefined }
    },
    steps: (authenticator) =>
      exportingSteps({
        ...{ clock, authenticator, origins: '*', maxBody: 1_000, loopbackOnly: false, report: () => undefined },
        audit: { prepare: () => undefined, record: (entry) => void it.audited.push(entry), close: async () => undefined },
      }),
    site: { baseUrl: BASE, reading: () => ({ baseUrl: BASE }) },
  })
  return it
}

let here: Site
beforeEach(() => {
  here = site()
})
const FIRST = 'nightly-20310101T030000Z'

describe('A schedule', () => {
  it('exports nothing for a client that is a partner, because its files have no view', async () => {
    here.client = { ...ETL, partner: { kind: 'payer', identifiers: [{ system: 'http://hl7.org/fhir/sid/us-npi', value: '1234567893' }] } }
    await expect(here.call(3)).rejects.toThrow('403')
    expect(await here.jobs()).toEqual([])
  })

  it('starts the export that its client would request, under a predictable name', async () => {
    await here.call(3)
    const [job, ...others] = await here.jobs()
    expect(others).toEqual([])
    expect(job).toMatchObject({
      ...{ id: FIRST, tenant: 'north', client: 'etl', request: `${BASE}/$export`, baseUrl: BASE, level: 'system', state: 'in-progress' },
      ...{ transactionTime: here.now, asked: { elements: [], patients: [], filters: [] } },
    })
    expect(job!.access.clauses).toEqual([{ type: '*', letters: ['r', 's'], query: '' }])
    expect(job!.access).not.toEqual(WHOLE_ACCESS)
    expect(here.told).toEqual([`${FIRST}-1 {"job":"${FIRST}","attempt":1}`])
  })

  it('is audited as a request of that client', async () => {
    await here.call(3)
    expect(here.audited).toMatchObject([
      { tenant: 'north', client: 'etl', subject: 'etl', scopes: 'system/*.rs', interaction: 'export', job: FIRST, status: 202 },
    ])
  })

  it('can request types, patients or a group', async () => {
    await here.call(3, { ...DAILY, level: 'patient', types: ['Patient', 'Observation'] })
    expect((await here.jobs())[0]).toMatchObject({ level: 'patient', asked: { types: ['Patient', 'Observation'] } })
    await expect(here.call(4, { ...DAILY, level: 'group', group: 'g-1' })).rejects.toThrow(
      /^The export nightly cannot be begun: 404 .*Group/,
    )
  })

  it('sees only data within the scopes and patient of its client, without administration', async () => {
    here.client = { ...ETL, scopes: ['patient/Observation.rs', 'system/admin', 'user/*.cruds', 'openid'], patient: 'Patient/1' }
    await here.call(3)
    const { access } = (await here.jobs())[0]!
    expect(access).toMatchObject({ isAdministrator: false, clauses: [{ type: 'Observation', within: ['Patient/1'] }] })
    expect(access.clauses).toHaveLength(1)
  })
})

describe('A run that ended because the store was restored', () => {
  const AGAIN = { only: 'set-back' } as const
  const ended = (id: string, reason: string) =>
    here.rows.change<Job>(JOB_ROWS, id, (job) => ({ ...job!, state: 'error', reason, ended: here.now }))

  it('is restarted once, with everything', async () => {
    await here.call(3)
    await here.end(FIRST, 'complete')
    await here.call(27)
    const second = 'nightly-20310102T030000Z'
    await ended(second, RESTORED_STORE_REASON)
    const restored = { ...DAILY, epoch: 1 }
    here.epoch = 1
    for (const hours of [28, 28, 28.5]) await here.call(hours, restored, AGAIN)
    const begun = (await here.jobs()).filter(({ state }) => state === 'in-progress')
    expect(begun.map(({ id, asked, epoch }) => [id, asked.since, epoch])).toEqual([['nightly-20310102T040000Z', undefined, 1]])
  })

  it('is restarted even if the first restart was refused', async () => {
    await here.call(3)
    await ended(FIRST, RESTORED_STORE_REASON)
    here.client = undefined
    for (const hours of [4, 5]) await expect(here.call(hours, DAILY, AGAIN)).rejects.toThrow('not registered')
    here.client = ETL
    await here.call(6, DAILY, AGAIN)
    expect((await here.jobs()).map(({ id }) => id).toSorted()).toEqual([FIRST, 'nightly-20310101T060000Z'])
  })

  it('is distinguished from failed, complete, running and missing runs', async () => {
    await here.call(2, DAILY, AGAIN)
    expect(await here.jobs()).toEqual([])
    await here.call(3)
    await here.call(4, DAILY, AGAIN)
    await ended(FIRST, UNAVAILABLE_REASON)
    await here.call(5, DAILY, AGAIN)
    await here.end(FIRST, 'complete')
    await here.call(6, DAILY, AGAIN)
    expect((await here.jobs()).map(({ id }) => id)).toEqual([FIRST])
  })
})

describe('A run that ends after a later one', () => {
  it('does not move the next _since back', async () => {
    for (const hours of [3, 27]) await here.call(hours)
    const [first, second] = (await here.jobs()).toSorted((a, b) => a.transactionTime - b.transactionTime) as [Job, Job]
    for (const { id } of [second, first]) {
      await here.end(id, 'complete')
      await here.watch()
    }
    await here.call(51)
    expect((await here.jobs()).map(({ asked }) => asked.since)).toEqual([undefined, undefined, second.transactionTime])
  })
})

describe('A repeated call', () => {
  it('starts one job', async () => {
    await here.call(3)
    await here.end(FIRST, 'complete')
    const before = await here.jobs()
    await here.call(3)
    expect(await here.jobs()).toEqual(before)
    expect([here.told.length, here.audited.length]).toEqual([1, 1])
  })

  it('starts one job when calls are concurrent', async () => {
    await Promise.all([here.call(3), here.call(3), here.call(3)])
    expect((await here.jobs()).map(({ id }) => id)).toEqual([FIRST])
    expect(new Set(here.told).size).toBe(1)
  })

  it('leaves a job unchanged that another call started meanwhile', async () => {
    here.step = 1
    const first = here.call(3)
    here.waits.push(Promise.resolve(), first)
    const second = here.call(3)
    await first
    const before = await here.jobs()
    await second
    expect(here.audited).toHaveLength(2)
    expect(await here.jobs()).toEqual(before)
  })

  it('starts no job after its removal, or after a later one', async () => {
    await here.call(3)
    await here.rows.remove(JOB_ROWS, FIRST)
    await here.call(3)
    expect(await here.jobs()).toEqual([])
    await here.call(27)
    await here.call(26)
    expect((await here.jobs()).map(({ id }) => id)).toEqual(['nightly-20310102T030000Z'])
  })

  it('completes a start that was interrupted, and repeats one that failed', async () => {
    await here.call(3)
    await here.rows.change<StoredSchedule>(SCHEDULE_ROWS, 'nightly', (kept) => ({
      ...kept!,
      runs: kept!.runs.map((run) => ({ ...run, state: 'called' as const })),
    }))
    await here.call(3)
    expect(here.told).toHaveLength(1)
    expect((await here.rows.read<StoredSchedule>(SCHEDULE_ROWS, 'nightly'))!.runs).toMatchObject([{ job: FIRST, state: 'begun' }])
    here.client = undefined
    await expect(here.call(27)).rejects.toThrow('the client "etl" is not registered')
    here.client = ETL
    await here.call(27)
    expect(here.told).toHaveLength(2)
  })

  it('counts once toward the export limit of its client', async () => {
    here = site({ FHIR_MAX_RUNNING_EXPORTS: '2' })
    await Promise.all([here.call(3), here.call(3)])
    await here.call(4)
    await expect(here.call(5)).rejects.toThrow(/429 .*2 exports of this client are running/)
    expect(await here.jobs()).toHaveLength(2)
  })
})

describe('The _since of a scheduled export', () => {
  const sinceOf = async (id: string) => (await here.jobs()).find((job) => job.id === id)!.asked.since
  const SECOND = 'nightly-20310102T030000Z'
  const THIRD = 'nightly-20310103T030000Z'

  it('is absent at the first run, or without sinceLast', async () => {
    await here.call(3)
    expect(await sinceOf(FIRST)).toBeUndefined()
    await here.end(FIRST, 'complete')
    await here.call(27, { ...DAILY, sinceLast: false })
    expect(await sinceOf(SECOND)).toBeUndefined()
  })

  it('is the transaction time of the last complete export', async () => {
    await here.call(3)
    const { transactionTime } = (await here.jobs())[0]!
    await here.end(FIRST, 'complete')
    await here.call(27)
    expect(await sinceOf(SECOND)).toBe(transactionTime)
  })

  it.each<Job['state']>(['in-progress', 'error', 'stopped'])('skips an export that is %s, and uses the one before', async (state) => {
    await here.call(3)
    const { transactionTime } = (await here.jobs())[0]!
    await here.end(FIRST, 'complete')
    await here.call(27)
    await here.end(SECOND, state)
    await here.call(51)
    expect(await sinceOf(THIRD)).toBe(transactionTime)
  })

  it('uses an export that ended after the next one started', async () => {
    await here.call(3)
    const { transactionTime } = (await here.jobs())[0]!
    await here.call(27)
    await here.end(FIRST, 'complete')
    await here.call(51)
    expect([await sinceOf(SECOND), await sinceOf(THIRD)]).toEqual([undefined, transactionTime])
  })

  it('survives the removal of the job, once its end was noticed', async () => {
    await here.call(3)
    const { transactionTime } = (await here.jobs())[0]!
    await here.end(FIRST, 'complete')
    await here.watch()
    await here.rows.remove(JOB_ROWS, FIRST)
    await here.call(27)
    expect(await sinceOf(SECOND)).toBe(transactionTime)
  })

  it.each<[string, Partial<ScheduledExport>, Partial<Client>]>([
    ['the client may see more', {}, { scopes: ['system/*.rs', 'patient/*.cruds'] }],
    ['the store was restored', { epoch: 1 }, {}],
    ['the client is another of that name', {}, { registeredAt: 2 }],
    ['other types are asked for', { types: ['Patient'] }, {}],
    ['another level is asked for', { level: 'patient' }, {}],
    ['another bucket is asked for', { bucket: 'lake' }, {}],
    ['another tenant is asked for', { tenant: 'south' }, { tenants: ['north', 'south'] }],
  ])('is absent if %s', async (_, schedule, client) => {
    await here.call(3)
    await here.end(FIRST, 'complete')
    here.client = { ...ETL, ...client }
    await here.call(27, { ...DAILY, ...schedule })
    expect(await sinceOf(SECOND)).toBeUndefined()
  })
})

describe('The call of a schedule', () => {
  it.each<[RegExp, Partial<Client>]>([
    [/the client "etl" is not of the tenant "north"/, { tenants: ['south'] }],
    [/A public client cannot ask for itself/, { authentication: { kind: 'public' } }],
    [/403 .*signed assertion/, { authentication: { kind: 'secret', hashes: [] } }],
    [/403 .*scope/, { scopes: ['system/Patient.c'] }],
    [/None of these scopes/, { scopes: ['openid'] }],
    [/condition/, { scopes: ['system/Observation.rs?subject.name=x'] }],
    [/several tenants/, { tenants: ['north', 'south'], patient: 'Patient/1' }],
  ])('is refused with %s', async (why, client) => {
    here.client = { ...ETL, ...client }
    await expect(here.call(3)).rejects.toThrow(why)
    expect([await here.jobs(), here.told]).toEqual([[], []])
    expect(await here.watch()).toEqual({ failed: ['nightly'], late: [] })
  })

  it('succeeds with a client secret if the setting allows it', async () => {
    here = site({ FHIR_EXPORT_NEEDS_ASSERTION: 'off' })
    here.client = { ...ETL, authentication: { kind: 'secret', hashes: [] } }
    await here.call(3)
    expect(await here.jobs()).toHaveLength(1)
  })

  it('is refused for another tenant if tenancy is off', async () => {
    here = site({ FHIR_TENANCY: 'off' })
    await expect(here.call(3)).rejects.toThrow('no tenants but "default"')
  })

  it('creates the job even if its workflow cannot be started', async () => {
    here.broken = new Error('throttled')
    await here.call(3)
    expect(await here.jobs()).toMatchObject([{ id: FIRST, state: 'in-progress' }])
  })
})

describe('The reported problems of a schedule', () => {
  it('are none while it succeeds', async () => {
    expect(await here.watch()).toEqual({ failed: [], late: [] })
    await here.call(3)
    expect(await here.watch()).toEqual({ failed: [], late: [] })
    await here.end(FIRST, 'complete')
    here.now = NOW + 50 * HOUR
    expect(await here.watch()).toEqual({ failed: [], late: [] })
  })

  it('include its failure until another run starts', async () => {
    await here.call(3)
    await here.end(FIRST, 'error')
    expect(await here.watch()).toEqual({ failed: ['nightly'], late: [] })
    await here.rows.remove(JOB_ROWS, FIRST)
    expect(await here.watch()).toEqual({ failed: ['nightly'], late: [] })
    await here.call(27)
    expect(await here.watch()).toEqual({ failed: [], late: [] })
  })

  it.each<[string, (site: Site) => Promise<unknown>]>([
    ['was never called', async () => undefined],
    ['failed', (site) => site.call(3).then(() => site.end(FIRST, 'error'))],
    ['was removed', (site) => site.call(3).then(() => site.rows.remove(JOB_ROWS, FIRST))],
    ['does not end', (site) => site.call(3)],
  ])('include lateness if it %s for longer than allowed', async (_, happens) => {
    await here.watch()
    await happens(here)
    here.now = NOW + 48 * HOUR
    expect((await here.watch()).late).toEqual([])
    here.now += 1
    expect((await here.watch()).late).toEqual(['nightly'])
  })
})

describe('A schedule that is no longer set', () => {
  const forget = (names?: readonly string[]) => removeObsoleteSchedules({ rows: here.rows, now: () => here.now }, names)
  const kept = async () => (await here.rows.read(SCHEDULE_ROWS, 'nightly')) !== undefined

  it('is removed, and starts with everything when it is set again', async () => {
    await here.call(3)
    await here.end(FIRST, 'complete')
    expect((await here.watch()).failed).toEqual([])
    here.now += HOUR
    await forget(['weekly'])
    expect(await kept()).toBe(false)
    await here.call(27)
    expect((await here.jobs()).find(({ id }) => id !== FIRST)!.asked.since).toBeUndefined()
  })

  it('is retained while it is set, while settings are unknown, and for an hour', async () => {
    await here.call(3)
    await forget(['weekly'])
    here.now += DAY
    await forget(['weekly', 'nightly'])
    await forget()
    expect(await kept()).toBe(true)
  })
})

it('A schedule with a bucket does not complete a run before it is copied', async () => {
  await here.call(3, { ...DAILY, bucket: 'lake' })
  await here.end(FIRST, 'complete')
  await here.watch()
  expect((await here.rows.read<StoredSchedule>(SCHEDULE_ROWS, 'nightly'))!.runs).toMatchObject([{ state: 'begun', bucket: 'lake' }])
})
