/** The link of a job: polling, cancelling, and the callers that may do so. Specification 3.1, 4.5 */
import { beforeEach, describe, expect, it } from '@jest/globals'
import { rangeRowsOf, segmentRowsOf } from '../../../lambdas/export/job/job.ts'
import { BASE_URL, createExportRequests, type ExportRequests, NOW } from '../requests.ts'

const DAY = 24 * 60 * 60 * 1000

let site: ExportRequests
beforeEach(async () => {
  site = createExportRequests()
  await site.kickOff('/$export?_type=Patient')
  site.audited.length = site.workflowCalls.length = 0
})

const poll = (more = {}) => site.send('GET', '/export/job-1', { headers: { accept: 'application/json' }, ...more })
const cancel = (more = {}) => site.send('DELETE', '/export/job-1', more)
const files = [
  { name: 'Patient', kind: 'output', type: 'Patient', count: 2, size: 100 },
  { name: 'error', kind: 'error', type: 'OperationOutcome', count: 1, size: 10 },
] as const
const complete = () => site.change('job-1', { state: 'complete', ended: NOW, files })

describe('A poll', () => {
  it('reports progress from the counts that writers store', async () => {
    expect((await poll()).headers).toMatchObject({ 'x-progress': '0% (preparing)', 'retry-after': '1' })
    await site.change('job-1', { total: 10_000 })
    const note = (owner: string, name: string, seen: number) => site.rows.change(owner, name, () => ({ seen }))
    await note(segmentRowsOf('job-1'), 's-1', 1_000)
    await note(segmentRowsOf('job-1'), 's-2', 1_345)
    const { status, headers, text } = await poll()
    expect([status, headers['x-progress'], text]).toEqual([202, '23% (2,345 of about 10,000 looked at)', ''])
    await note(rangeRowsOf('job-1'), 'r-1', 3_000)
    expect((await poll()).headers['x-progress']).toBe('53% (5,345 of about 10,000 looked at)')
    await note(segmentRowsOf('job-1'), 's-2', 50_000)
    expect((await poll()).headers['x-progress']).toBe('99% (54,000 of about 54,000 looked at)')
  })

  it('returns the manifest without progress if the job ends meanwhile', async () => {
    await site.change('job-1', { total: 10_000 })
    await site.rows.change(segmentRowsOf('job-1'), 's-1', () => ({ seen: 9_000 }))
    const { rows } = site
    const list = rows.list.bind(rows)
    rows.list = async function* <Value>(owner: string) {
      await complete()
      await rows.remove(segmentRowsOf('job-1'))
      yield* list<Value>(owner)
    }
    const { status, headers } = await poll()
    expect([status, headers['x-progress']]).toEqual([200, undefined])
  })

  it('shows only a percentage to a client without full access', async () => {
    await site.kickOff('/$export', { caller: { scopes: ['system/Patient.rs'] } })
    await site.change('job-2', { total: 10_000 })
    await site.rows.change(segmentRowsOf('job-2'), 's-1', () => ({ seen: 1_234 }))
    expect((await site.send('GET', '/export/job-2')).headers['x-progress']).toBe('12%')
  })

  it('gets a Retry-After that grows with the age of the job', async () => {
    const waits: string[] = []
    for (const age of [0, 20_000, 600_000, 10 * DAY]) {
      site.now = NOW + age
      waits.push((await poll()).headers['retry-after']!)
    }
    expect(waits).toEqual(['1', '2', '60', '60'])
  })

  it('returns the manifest with links for 7 days, and records the retrieval', async () => {
    await complete()
    site.now = NOW + 3 * DAY
    const { status, headers, body } = await poll()
    const until = NOW + 10 * DAY
    expect([status, headers['content-type'], headers.expires]).toEqual([200, 'application/json', new Date(until).toUTCString()])
    expect(body).toEqual({
      transactionTime: '2031-01-01T00:00:00.000Z',
      request: `${BASE_URL}/$export?_type=Patient`,
      requiresAccessToken: false,
      output: [{ type: 'Patient', url: `job-1/Patient for app until ${until}`, count: 2 }],
      error: [{ type: 'OperationOutcome', url: `job-1/error for app until ${until}`, count: 1 }],
    })
    expect(await site.job('job-1')).toMatchObject({ retrieved: site.now })
    expect(site.audited).toMatchObject([{ interaction: 'export-status', job: 'job-1', client: 'app', status: 200 }])
  })

  it('lists deletions in the manifest if _since was given', async () => {
    await site.kickOff('/$export?_since=2030-01-01T00:00:00Z')
    const deleted = { name: 'deleted', kind: 'deleted', type: 'Bundle', count: 3, size: 1 } as const
    await site.change('job-2', { state: 'complete', ended: NOW, files: [deleted] })
    const { body } = await site.send('GET', '/export/job-2')
    expect([body.output, body.error, body.deleted]).toEqual([[], [], [{ type: 'Bundle', url: expect.any(String), count: 3 }]])
    await site.change('job-2', { files: [] })
    expect((await site.send('GET', '/export/job-2')).body.deleted).toEqual([])
  })

  it('returns the reason of a failed job', async () => {
    await site.change('job-1', { state: 'error', ended: NOW, reason: 'Group/1 is gone' })
    const { status, body } = await poll()
    expect([status, body.resourceType, body.issue[0].details.text]).toEqual([500, 'OperationOutcome', 'Group/1 is gone'])
    expect(site.reported).toEqual([])
  })

  it('is answered 404 after the retention time of a finished job', async () => {
    await complete()
    site.now = NOW + 10 * DAY - 1
    expect((await poll()).status).toBe(200)
    site.now = NOW + 10 * DAY
    expect([(await poll()).status, (await cancel()).status]).toEqual([404, 404])
  })
})

it.each([
  ['another client', { client: 'other' }, 403],
  ['the same client in another tenant', { tenant: 'south' }, 404],
  ['another client of another tenant', { client: 'other', tenant: 'south' }, 404],
])('%s can neither poll nor cancel a job', async (_, caller, status) => {
  for (const change of [() => undefined, complete]) {
    await change()
    const [polled, ended] = [await poll({ caller }), await cancel({ caller })]
    expect([polled.status, ended.status, polled.body.resourceType]).toEqual([status, status, 'OperationOutcome'])
    expect(polled.headers).not.toHaveProperty('x-progress')
  }
  expect([await site.job('job-1'), site.workflowCalls]).toMatchObject([{ state: 'complete' }, []])
  expect(await site.job('job-1')).not.toHaveProperty('retrieved')
})

it('an export of a user is polled and cancelled by that user only', async () => {
  await site.change('job-1', { user: 'u-1' })
  for (const subject of ['u-2', 'app'])
    expect([(await poll({ caller: { subject } })).status, (await cancel({ caller: { subject } })).status]).toEqual([403, 403])
  expect((await poll({ caller: { subject: 'u-1', client: 'other' } })).status).toBe(403)
  expect([(await poll({ caller: { subject: 'u-1' } })).status, (await cancel({ caller: { subject: 'u-1' } })).status]).toEqual([202, 202])
})

it('no user polls or cancels an export of the client itself', async () => {
  expect([(await poll({ caller: { subject: 'u-1' } })).status, (await cancel({ caller: { subject: 'u-1' } })).status]).toEqual([403, 403])
})

it('links in the manifest name the user of the export', async () => {
  await site.change('job-1', { user: 'u-1' })
  await complete()
  const { body } = await poll({ caller: { subject: 'u-1' } })
  expect(body.output[0].url).toContain('for u-1 of app until')
})

it('the same client can use another token with any scopes', async () => {
  expect((await poll({ caller: { scopes: [], clientAuth: 'secret' } })).status).toBe(202)
  expect((await cancel({ caller: { scopes: [], clientAuth: 'secret' } })).status).toBe(202)
})

describe('Cancelling a job', () => {
  it('stops a running job, which is then answered 404', async () => {
    const { status, text } = await cancel()
    expect([status, text, site.workflowCalls]).toEqual([202, '', ['stop job-1-1']])
    expect(await site.job('job-1')).toMatchObject({ state: 'stopped', ended: NOW })
    const [polled, again] = [await poll(), await cancel()]
    expect([polled.status, again.status, polled.body.resourceType]).toEqual([404, 404, 'OperationOutcome'])
    expect(site.audited.map(({ interaction, job, status }) => [interaction, job, status])).toEqual([
      ['export-cancel', 'job-1', 202],
      ['export-status', 'job-1', 404],
      ['export-cancel', 'job-1', 404],
    ])
  })

  it('removes the files of a complete job', async () => {
    await complete()
    expect((await cancel()).status).toBe(202)
    expect(site.removed).toEqual(['exports/job-1/files/Patient.ndjson', 'exports/job-1/files/error.ndjson'])
    expect((await poll()).status).toBe(404)
  })

  it('succeeds even if the workflow cannot be reached', async () => {
    site.broken = new Error('no workflow')
    expect([(await cancel()).status, (await poll()).status, site.reported]).toEqual([202, 404, [site.broken]])
  })
})

it.each(['/export/never', '/export/..%2F..%2Fexports', `/export/${'x'.repeat(300)}`, '/export/%00'])('%s is answered 404', async (path) => {
  expect([(await site.send('GET', path)).status, (await site.send('DELETE', path)).status]).toEqual([404, 404])
})
