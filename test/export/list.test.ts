/** The list of exports: its jobs, their order and parts, and the callers that see them. */
import { beforeEach, describe, expect, it } from '@jest/globals'
import { segmentRowsOf } from '../../lambdas/export/job/job.ts'
import { jobIdAt } from '../../lambdas/export/schedules/schedules.ts'
import type { Tree } from '../fixtures/resources.ts'
import { BASE_URL, type CallerClaims, createExportRequests, type ExportRequests, NOW } from './requests.ts'

const DAY = 24 * 60 * 60 * 1000
const ADMINISTRATOR: CallerClaims = {
  client: 'explorer',
  subject: 'u-9',
  fhirUser: 'Practitioner/9',
  scopes: ['user/*.rs', 'system/admin'],
}

let site: ExportRequests
beforeEach(() => {
  site = createExportRequests({ userExports: true, maxRunningExports: 1_000 }, ['g-1'])
})

const list = (query = '', caller: CallerClaims = {}) => site.send('GET', `/export${query}`, { caller })

/** Parts of each listed job, by name. */
const jobsOf = ({ body }: { readonly body: Tree }): readonly Tree[] =>
  (body.parameter ?? []).map(({ name, part }: Tree) => {
    expect(name).toBe('export')
    return Object.fromEntries(part.map(({ name, ...value }: Tree) => [name, Object.values(value)[0]]))
  })

const listed = async (query = '', caller: CallerClaims = {}) => jobsOf(await list(query, caller))
const idsOf = async (query = '', caller: CallerClaims = {}) => (await listed(query, caller)).map(({ id }) => id)

/** Starts an export a minute after the last one. */
const start = async (path: string, caller: CallerClaims = {}, headers = {}) => {
  site.now += 60_000
  expect((await site.kickOff(path, { caller, headers })).status).toBe(202)
}

describe('The list of exports', () => {
  it('is a Parameters resource without parameters if there is no job', async () => {
    const { status, body } = await list()
    expect([status, body]).toEqual([200, { resourceType: 'Parameters' }])
  })

  it('shows the newest job first, each with its state and times', async () => {
    await start('/$export?_type=Patient')
    await start('/Group/g-1/$export')
    await start('/Patient/$export')
    await site.change('job-1', { state: 'complete', ended: NOW + DAY, files: [] })
    await site.change('job-2', { state: 'error', ended: NOW + DAY, reason: 'Group/g-1 is gone' })
    const own = { client: 'app', own: true }
    const ended = '2031-01-02T00:00:00.000Z'
    expect(await listed()).toEqual([
      {
        ...{ id: 'job-3', state: 'in-progress', start: '2031-01-01T00:03:00.000Z', progress: '0% (preparing)' },
        ...{ request: `${BASE_URL}/Patient/$export`, ...own },
      },
      {
        ...{ id: 'job-2', state: 'error', start: '2031-01-01T00:02:00.000Z', end: ended, reason: 'Group/g-1 is gone' },
        ...{ request: `${BASE_URL}/Group/g-1/$export`, ...own },
      },
      {
        ...{ id: 'job-1', state: 'complete', start: '2031-01-01T00:01:00.000Z', end: ended },
        ...{ request: `${BASE_URL}/$export?_type=Patient`, ...own },
      },
    ])
    expect((await list()).text).not.toContain('export-files')
  })

  it('has the Retry-After of the youngest running job, if one runs', async () => {
    await start('/$export')
    await start('/$export')
    site.now += 100_000
    expect((await list()).headers['retry-after']).toBe('10')
    for (const id of ['job-1', 'job-2']) await site.change(id, { state: 'error', ended: site.now, reason: 'gone' })
    expect((await list()).headers).not.toHaveProperty('retry-after')
  })

  it('has typed values that FHIR allows', async () => {
    await start('/$export')
    const { parameter } = (await list()).body
    expect(parameter[0].part.map((part: Tree) => Object.keys(part).join())).toEqual([
      'name,valueId',
      'name,valueCode',
      'name,valueInstant',
      'name,valueUrl',
      'name,valueString',
      'name,valueBoolean',
      'name,valueString',
    ])
  })

  it('names the schedule of a scheduled job', async () => {
    await start('/$export')
    const id = jobIdAt('each-night', NOW)
    const job = await site.job('job-1')
    await site.rows.change('exports', id, () => ({ ...job, id }))
    expect((await listed()).map(({ id, schedule }) => [id, schedule])).toEqual([
      [id, 'each-night'],
      ['job-1', undefined],
    ])
  })

  it('shows 20 jobs by default, as many as _count, and never more than 100', async () => {
    for (let i = 0; i < 205; i++) await start('/$export')
    expect(await idsOf()).toEqual(Array.from({ length: 20 }, (_, i) => `job-${205 - i}`))
    expect(await idsOf('?_count=3')).toEqual(['job-205', 'job-204', 'job-203'])
    expect([(await idsOf('?_count=100')).length, (await idsOf('?_count=1000')).length, (await idsOf('?_count=0')).length]).toEqual([
      100, 100, 0,
    ])
  })

  it('shows the jobs of one state, beyond newer ones of other states', async () => {
    for (let i = 0; i < 4; i++) await start('/$export')
    await site.change('job-1', { state: 'error', ended: NOW, reason: 'The disk is full' })
    expect(await idsOf('?state=error&_count=1')).toEqual(['job-1'])
    expect(await idsOf('?state=complete')).toEqual([])
    expect(await idsOf('?state=in-progress&_count=2')).toEqual(['job-4', 'job-3'])
  })

  it.each(['?_count=many', '?_count=-1', '?_count=', '?_count=1&_count=2', '?state=failed', '?state=stopped', '?state=', '?client=app'])(
    'is answered 400 for %s',
    async (query) => {
      const { status, body } = await list(query)
      expect([status, body.resourceType]).toEqual([400, 'OperationOutcome'])
    },
  )

  it('leaves out cancelled and expired jobs, also for administrators', async () => {
    await start('/$export')
    await start('/$export')
    await site.send('DELETE', '/export/job-1')
    await site.change('job-2', { state: 'complete', ended: NOW, files: [] })
    site.now = NOW + 10 * DAY - 1
    expect([await idsOf(), await idsOf('', ADMINISTRATOR)]).toEqual([['job-2'], ['job-2']])
    site.now = NOW + 10 * DAY
    expect([await idsOf(), await idsOf('', ADMINISTRATOR)]).toEqual([[], []])
  })

  it('shows a job that ends meanwhile without progress, and none that is cancelled meanwhile', async () => {
    await start('/$export')
    await start('/$export')
    for (const id of ['job-1', 'job-2']) await site.change(id, { total: 10 })
    const listRows = site.rows.list.bind(site.rows)
    site.rows.list = async function* <Value>(owner: string) {
      if (owner === segmentRowsOf('job-1')) await site.change('job-1', { state: 'complete', ended: NOW, files: [] })
      if (owner === segmentRowsOf('job-2')) await site.change('job-2', { state: 'stopped', ended: NOW })
      yield* listRows<Value>(owner)
    }
    expect(await listed()).toMatchObject([{ id: 'job-1', state: 'complete' }])
    expect((await listed())[0]).not.toHaveProperty('progress')
  })

  it('allows HEAD, and no other method', async () => {
    expect([(await site.send('HEAD', '/export')).status, (await list()).status]).toEqual([200, 200])
    for (const method of ['POST', 'PUT', 'DELETE']) expect([method, (await site.send(method, '/export')).status]).toEqual([method, 405])
  })

  it('is answered 422 if more jobs are stored than it can sort', async () => {
    site.rows.list = async function* <Value>() {
      for (let i = 0; i <= 20_000; i++) yield { name: String(i), value: { tenant: 'north' } as Value }
    }
    expect((await list()).status).toBe(422)
  })
})

describe('The caller of the list', () => {
  beforeEach(async () => {
    await start('/$export')
    await start('/$export', { client: 'other' })
    await start('/$export', { subject: 'u-1', scopes: ['user/*.rs'] })
    await start('/$export', { tenant: 'south' })
    await start('/$export', { tenant: 'south', client: 'explorer', subject: 'u-9' })
  })

  it.each([
    ['a client: its own', {}, ['job-1']],
    ['another client: its own', { client: 'other' }, ['job-2']],
    ['a user of the client: those of the user', { subject: 'u-1' }, ['job-3']],
    ['another user of the client: none', { subject: 'u-2' }, []],
    ['the same user of another client: none', { client: 'other', subject: 'u-1' }, []],
    ['a client in another tenant: those of that tenant', { tenant: 'south' }, ['job-4']],
    ['a client without scopes: its own', { scopes: [] }, ['job-1']],
    ['an administrator: all of the tenant', ADMINISTRATOR, ['job-3', 'job-2', 'job-1']],
    ['an administrator of another tenant: all of that tenant', { ...ADMINISTRATOR, tenant: 'south' }, ['job-5', 'job-4']],
    ['an administrator of a tenant without jobs: none', { ...ADMINISTRATOR, tenant: 'west' }, []],
  ])('sees as %s', async (_, caller: CallerClaims, ids) => {
    expect(await idsOf('', caller)).toEqual(ids)
  })

  it('sees as own exactly the jobs that it may poll', async () => {
    for (const caller of [{}, { subject: 'u-1' }, { ...ADMINISTRATOR, client: 'other', subject: 'other' }])
      for (const { id, own } of await listed('', caller))
        expect([id, (await site.send('GET', `/export/${id}`, { caller })).status]).toEqual([id, own ? 202 : 403])
  })
})

describe('A request URL in the list', () => {
  const requestsSeenBy = async (caller: CallerClaims) => (await listed('', caller)).map(({ request }) => request)

  it('has no filter for another caller, because filters may name patients', async () => {
    await start('/$export?_type=Patient&_typeFilter=Patient%3Fname%3DBaker&_since=2030-01-01T00:00:00Z')
    expect(await requestsSeenBy({})).toEqual([
      `${BASE_URL}/$export?_type=Patient&_typeFilter=Patient%3Fname%3DBaker&_since=2030-01-01T00:00:00Z`,
    ])
    expect(await requestsSeenBy(ADMINISTRATOR)).toEqual([`${BASE_URL}/$export?_type=Patient&_since=2030-01-01T00:00:00Z`])
  })

  it('has no parameter that a lenient kick-off ignored', async () => {
    await start('/$export?access_token=s3cret&_type=Patient&%5Ftoken=s3cret', {}, { prefer: 'respond-async, handling=lenient' })
    expect(await requestsSeenBy({})).toEqual([`${BASE_URL}/$export?_type=Patient`])
  })

  it('has no query if that is long', async () => {
    await start(`/$export?_typeFilter=${encodeURIComponent(`Patient?_tag=${'x'.repeat(2_000)}`)}`)
    expect(await requestsSeenBy({})).toEqual([`${BASE_URL}/$export`])
  })
})

it('Progress in the list has counts only for a caller that may read the whole tenant', async () => {
  await start('/$export')
  await site.change('job-1', { total: 10_000 })
  await site.rows.change(segmentRowsOf('job-1'), 's-1', () => ({ seen: 1_234 }))
  const progressFor = async (caller: CallerClaims) => (await listed('', caller))[0]!.progress
  expect(await progressFor({})).toBe('12% (1,234 of about 10,000 looked at)')
  expect(await progressFor(ADMINISTRATOR)).toBe('12% (1,234 of about 10,000 looked at)')
  expect(await progressFor({ ...ADMINISTRATOR, scopes: ['user/Patient.rs', 'system/admin'] })).toBe('12%')
})

it('A list of exports leaves an audit record with its parameters', async () => {
  await list('?_count=5&state=error')
  expect(site.audited).toMatchObject([{ interaction: 'export-list', client: 'app', tenant: 'north', status: 200 }])
})
