/** Kick-off of exports: requests rejected before a job exists, and the job of an accepted one. Specification 4.5, 3.1, 5.5 */
import { beforeEach, describe, expect, it, jest } from '@jest/globals'
import { removeJobData } from '../../lambdas/export/job/file-removal.ts'
import { readNamedPatients } from '../../lambdas/export/plan/named-patients.ts'
import type { Client } from '../../lambdas/ports/rows/clients.ts'
import { MemoryBlobs } from '../fixtures/memory/blobs.ts'
import { countTurnsDuring } from '../fixtures/turns.ts'
import {
  BASE_URL,
  type CallerClaims,
  createExportRequests,
  type ExportRequests,
  KICK_OFF_HEADERS,
  NOW,
  type RequestContent,
  type TestResponse,
} from './requests.ts'

let site: ExportRequests
beforeEach(() => {
  site = createExportRequests({}, ['g-1', 'deleted'])
})

const textOf = ({ body }: TestResponse): string => body.issue[0].details.text
const parameters = (...parameter: object[]) => ({ resourceType: 'Parameters', parameter })

describe('A kick-off', () => {
  it.each([
    ['/$export', { level: 'system' }],
    ['/Patient/$export', { level: 'patient' }],
    ['/Group/g-1/$export', { level: 'group', group: 'g-1' }],
  ])('creates a job for %s, starts its workflow, and returns its link', async (path, expected) => {
    for (const asking of [{}, { body: parameters() }]) {
      const { status, headers, text } = await site.kickOff(path, asking)
      const [job, ...others] = await site.jobs()
      expect([status, headers['content-location'], text, others]).toEqual([202, `${BASE_URL}/export/${job!.id}`, '', []])
      expect(job).toMatchObject({
        ...{
          tenant: 'north',
          client: 'app',
          request: `${BASE_URL}${path}`,
          baseUrl: BASE_URL,
          transactionTime: NOW,
          state: 'in-progress',
          attempt: 1,
        },
        ...{
          asked: { elements: [], patients: [], filters: [], passedOver: [] },
          access: { clauses: [{ type: '*', letters: ['r', 's'] }] },
        },
        ...expected,
      })
      expect(site.workflowCalls).toEqual([`start ${job!.id}-1 {"job":"${job!.id}","attempt":1}`])
      expect(site.audited).toMatchObject([
        {
          interaction: 'export',
          client: 'app',
          tenant: 'north',
          job: job!.id,
          level: job!.level,
          status: 202,
          ...(job!.group === undefined ? {} : { group: `Group/${job!.group}` }),
        },
      ])
      site = createExportRequests({}, ['g-1'])
    }
  })

  it('has the same parameters by GET and by POST', async () => {
    const query =
      '_type=Patient,Observation&_since=2030-01-01T00:00:00Z&_typeFilter=Observation%3Fstatus%3Dfinal&_elements=id&_outputFormat=ndjson'
    const sent = parameters(
      { name: '_type', valueString: 'Patient' },
      { name: '_type', valueString: 'Observation' },
      { name: '_since', valueInstant: '2030-01-01T00:00:00Z' },
      { name: '_typeFilter', valueString: 'Observation?status=final' },
      { name: '_elements', valueString: 'id' },
      { name: '_outputFormat', valueString: 'ndjson' },
    )
    await site.kickOff(`/$export?${query}`)
    await site.kickOff('/$export', { body: sent })
    const [one, other] = await site.jobs()
    expect(one!.asked).toEqual(other!.asked)
    expect(one!.asked).toMatchObject({ types: ['Patient', 'Observation'], since: Date.UTC(2030, 0, 1), elements: [{ element: 'id' }] })
    expect([one!.request, other!.request]).toEqual([`${BASE_URL}/$export?${query}`, `${BASE_URL}/$export`])
  })

  it('combines URL and body by POST, and takes patients as references or strings', async () => {
    const body = parameters({ name: 'patient', valueReference: { reference: 'Patient/1' } }, { name: 'patient', valueString: '2' })
    expect((await site.kickOff('/Patient/$export?_type=Patient', { body })).status).toBe(202)
    const [job] = await site.jobs()
    expect(job).toMatchObject({ asked: { types: ['Patient'] } })
    expect(await readNamedPatients(site.rows, job!, NOW)).toEqual(['Patient/1', 'Patient/2'])
  })

  it('ignores and records invalid parameters with lenient handling', async () => {
    const { status } = await site.kickOff('/$export?_colour=red&_type=Nothing,Patient', {
      headers: { prefer: 'respond-async, handling=lenient' },
    })
    expect(status).toBe(202)
    const { types, passedOver } = (await site.jobs())[0]!.asked
    expect([types, passedOver.length]).toEqual([['Patient'], 2])
  })

  it('accepts elements of any exported type, including referenced types', async () => {
    const elements = 'Patient.name,code,value[x],Organization.alias,meta'
    expect((await site.kickOff(`/Group/g-1/$export?_elements=${elements}`)).status).toBe(202)
    expect((await site.jobs())[0]!.asked.elements).toHaveLength(5)
  })

  it.each(['/Patient/$export', '/Group/g-1/$export'])(
    'accepts elements of Patients that are included without _type at %s',
    async (path) => {
      expect((await site.kickOff(`${path}?_type=Observation&_elements=Observation.status,Patient.name`)).status).toBe(202)
      expect((await site.jobs())[0]!.asked.elements).toHaveLength(2)
    },
  )

  it('ignores and records elements and types it does not export with lenient handling', async () => {
    const headers = { prefer: 'respond-async, handling=lenient' }
    expect((await site.kickOff('/Group/g-1/$export?_type=Claim,Patient&_elements=nmae,Patient.name', { headers })).status).toBe(202)
    expect((await site.jobs())[0]!.asked).toEqual({
      ...{ patients: [], filters: [], types: ['Patient'], elements: [{ type: 'Patient', element: 'name' }] },
      passedOver: [expect.stringContaining('_type names Claim'), expect.stringContaining('_elements names nmae')],
    })
  })

  it('creates a job even if its workflow cannot be started', async () => {
    site.broken = new Error('no workflow')
    expect((await site.kickOff('/$export')).status).toBe(202)
    expect(await site.jobs()).toMatchObject([{ state: 'in-progress', attempt: 1 }])
    expect(site.reported).toEqual([site.broken])
  })
})

const WRONG: readonly (readonly [what: string, path: string, status: number, text: string, asking?: RequestContent])[] = [
  ['a type', '/Observation/$export', 404, 'Exports are of everything, of patients and of groups'],
  ['a type, whoever asks', '/Observation/$export', 404, 'Exports are of everything', { caller: { clientAuth: 'secret' } }],
  ['a patient', '/Patient/1/$export', 404, 'Exports are of everything'],
  ['all groups', '/Group/$export', 404, 'Exports are of everything'],
  ['a type that is none', '/Nothing/$export', 404, 'There is no resource type Nothing'],
  ['a Group that is not there', '/Group/g-2/$export', 404, 'There is no resource Group/g-2'],
  ['a Group that was deleted', '/Group/deleted/$export', 404, 'was deleted'],
  ['no Prefer', '/$export', 400, 'Prefer: respond-async', { headers: { prefer: 'handling=lenient' } }],
  ['another Accept', '/$export', 406, 'Accept: application/fhir+json', { headers: { accept: 'application/fhir+ndjson' } }],
  ['JSON that is not FHIR', '/$export', 406, 'Accept: application/fhir+json', { headers: { accept: 'application/json' } }],
  ['no Accept', '/$export', 406, 'Accept: application/fhir+json', { headers: { accept: '' } }],
  ['_since', '/$export?_since=yesterday', 400, '_since is an instant'],
  ['_type', '/$export?_type=Nothing', 400, '_type names "Nothing"'],
  ['_typeFilter', '/$export?_typeFilter=Patient%3Fcolour=red', 400, '_typeFilter'],
  [
    'a type that a setting leaves out',
    '/Group/g-1/$export?_type=Claim',
    400,
    'Claim, which exports of a Group leave out. The setting FHIR_GROUP_EXPORT_TYPES adds it',
  ],
  ['an element of no type', '/$export?_elements=id,nmae', 400, '_elements names nmae, which is an element of no type of this export'],
  ['an element of another type', '/$export?_elements=Patient.code', 400, '_elements names Patient.code'],
  ['an element of no type of the level', '/Group/g-1/$export?_elements=billablePeriod', 400, '_elements names billablePeriod'],
  [
    'an element of a type that _type leaves out',
    '/$export?_type=Patient&_elements=Observation.status',
    400,
    '_elements names Observation.status',
  ],
  ['patient by GET', '/Patient/$export?patient=1', 400, 'patient is sent by POST'],
  [
    'patient of everything',
    '/$export',
    400,
    'patient is for exports of patients',
    { body: parameters({ name: 'patient', valueString: '1' }) },
  ],
  ['a body that is no Parameters', '/$export', 400, 'The body of an export is Parameters', { body: { resourceType: 'Patient' } }],
  ['a body that is no resource', '/$export', 400, 'not a resource', { body: [] }],
  ['a body that is no JSON', '/$export', 400, '', { body: '{' }],
  ['a body in XML', '/$export', 415, '', { body: '<a/>', headers: { 'content-type': 'application/fhir+xml' } }],
  ['parameters that are no list', '/$export', 400, 'is an array', { body: { resourceType: 'Parameters', parameter: {} } }],
  ['a parameter without a name', '/$export', 400, 'has a name', { body: parameters({ valueString: 'a' }) }],
  ['a parameter without a value', '/$export', 400, '_type has no value', { body: parameters({ name: '_type' }) }],
  [
    'two values',
    '/$export',
    400,
    'more than one value',
    { body: parameters({ name: '_type', valueString: 'Patient', valueCode: 'Patient' }) },
  ],
  ['a value of another kind', '/$export', 400, '_since is sent as valueInstant', { body: parameters({ name: '_since', valueInteger: 1 }) }],
  ['a value that is none', '/$export', 400, '_type is empty, or no valueString', { body: parameters({ name: '_type', valueString: 1 }) }],
  ['a reference to nothing', '/Patient/$export', 400, 'patient is empty', { body: parameters({ name: 'patient', valueReference: {} }) }],
  ['an unknown parameter', '/$export', 400, '_colour is not a parameter', { body: parameters({ name: '_colour', valueString: 'a' }) }],
  ['a token got by a secret', '/$export', 403, 'private_key_jwt', { caller: { clientAuth: 'secret' } }],
  ['a token of a public client', '/$export', 403, 'private_key_jwt', { caller: { clientAuth: 'none' } }],
  ['no type in scope', '/$export', 403, 'This needs a scope for *.rs', { caller: { scopes: ['system/Patient.cud', 'openid'] } }],
  [
    'a chain out of scope',
    '/$export?_typeFilter=Observation%3Fpatient.name%3Da',
    403,
    'This needs a scope for Patient.s',
    { caller: { scopes: ['system/Observation.rs'] } },
  ],
  [
    'a Group out of scope',
    '/Group/g-1/$export',
    403,
    'such as system/Group.r or system/Group.read',
    { caller: { scopes: ['system/Patient.rs'] } },
  ],
  ['a Group that is hidden', '/Group/g-1/$export', 404, 'no resource', { caller: { scopes: ['patient/*.rs'], patient: 'p' } }],
]

it.each(WRONG)('%s is refused before there is a job', async (_, path, status, text, asking = {}) => {
  const answer = await site.kickOff(path, asking)
  expect([answer.status, answer.body.resourceType]).toEqual([status, 'OperationOutcome'])
  expect(textOf(answer)).toContain(text)
  expect([await site.jobs(), site.workflowCalls]).toEqual([[], []])
  expect(site.audited).toMatchObject([{ interaction: 'export', status }])
})

describe('A Group that the token does not name', () => {
  const SCOPES = ['system/Patient.rs', 'system/Observation.rs']
  const register = (scopes: readonly string[], more: Partial<Client> = {}) =>
    site.clients.change('app', () => ({
      ...{ id: 'app', name: 'App', authentication: { kind: 'keys', keys: [] }, scopes, redirectUris: [], tenants: ['north'] },
      ...{ mayIntrospect: false, changedAt: NOW },
      ...more,
    }))
  const kickOff = (who: CallerClaims = {}) => site.kickOff('/Group/g-1/$export', { caller: { scopes: SCOPES, ...who } })

  it.each(['system/*.rs', 'system/Group.read', 'system/Group.r?_id=g-1', 'patient/*.rs'])(
    'is exported if the client is registered for %s, with the types of the token',
    async (scope) => {
      await register([scope, ...SCOPES])
      expect((await kickOff()).status).toBe(202)
      const [job] = await site.jobs()
      expect(job).toMatchObject({ group: 'g-1', groupAccess: { clauses: [{ type: 'Group', letters: ['r'] }] } })
      expect(job!.access.clauses.map(({ type }) => type)).toEqual(['Patient', 'Observation'])
    },
  )

  it.each([
    ['system/Group.s', 403],
    ['user/*.cruds', 403],
    ['system/Observation.rs', 403],
    ['system/Group.r?_id=g-2', 404],
  ])('is rejected if the client is registered for %s: %d', async (scope, status) => {
    await register([scope, ...SCOPES])
    expect((await kickOff()).status).toBe(status)
    expect(await site.jobs()).toEqual([])
  })

  it('is rejected if the client has a patient in context', async () => {
    await register(['patient/*.rs'], { patient: 'Patient/1' })
    expect((await kickOff({ scopes: ['patient/Observation.rs'], patient: '1' })).status).toBe(404)
  })

  it('is exported if the registration opens a Group that a condition of the token hides', async () => {
    await register(['system/Group.r?_id=g-1'])
    expect((await kickOff({ scopes: [...SCOPES, 'system/Group.r?_id=g-2'] })).status).toBe(202)
    await site.clients.change('app', () => undefined)
    expect((await kickOff({ scopes: [...SCOPES, 'system/Group.r?_id=g-2'] })).status).toBe(404)
  })

  it('is rejected for a token of a user without a scope for Group', async () => {
    site = createExportRequests({ userExports: true }, ['g-1'])
    await register(['system/*.rs', 'user/*.rs'])
    const scopes = ['user/Patient.rs']
    expect((await kickOff({ subject: 'jane', fhirUser: 'Practitioner/1', scopes })).status).toBe(403)
    expect((await kickOff({ subject: 'jane', fhirUser: 'Practitioner/1', scopes: [...scopes, 'user/Group.r'] })).status).toBe(202)
  })

  it('is rejected for the client of another tenant', async () => {
    await register(['system/*.rs'])
    expect((await kickOff({ tenant: 'south' })).status).toBe(403)
  })
})

describe('A client of another issuer', () => {
  const [client, subject] = ['app@auth.example.org', 'service-account@auth.example.org']

  it('exports for itself if its issuer says that it authenticates by assertion', async () => {
    expect((await site.kickOff('/$export', { caller: { client, subject, actsForItself: true } })).status).toBe(202)
    const [job] = await site.jobs()
    expect([job!.client, job!.user]).toEqual([client, undefined])
    expect((await site.send('GET', `/export/${job!.id}`, { caller: { client, subject, actsForItself: true } })).status).toBe(202)
    expect((await site.send('GET', `/export/${job!.id}`, { caller: { client, subject } })).status).toBe(403)
  })

  it.each([{}, { userExports: true }, { exportNeedsAssertion: false }])(
    'is otherwise rejected with the setting that would admit it: %j',
    async (settings) => {
      site = createExportRequests(settings)
      const answer = await site.kickOff('/$export', { caller: { client, subject, clientAuth: 'none' } })
      expect([answer.status, textOf(answer)]).toEqual([403, expect.stringContaining('FHIR_EXTERNAL_ISSUERS names it')])
    },
  )
})

it('an error names the wrong entry of the body', async () => {
  const { body } = await site.kickOff('/$export', { body: parameters({ name: '_type', valueString: 'Patient' }, { name: '_since' }) })
  expect(body.issue[0].expression).toEqual(['Parameters.parameter[1]'])
})

it('an unsupported method is answered 405 with Allow', async () => {
  const { status, headers } = await site.send('DELETE', '/Patient/$export', { headers: KICK_OFF_HEADERS })
  expect([status, headers.allow]).toEqual([405, 'GET, POST, OPTIONS'])
})

it.each(['/$export', '/Patient/$export', '/Group/g-1/$export'])(
  'HEAD of %s starts no export, and is answered 405 with Allow',
  async (path) => {
    const { status, headers } = await site.send('HEAD', path, { headers: KICK_OFF_HEADERS })
    expect([status, headers.allow]).toEqual([405, 'GET, POST, OPTIONS'])
    expect([await site.jobs(), site.workflowCalls]).toEqual([[], []])
    expect((await site.send('OPTIONS', path)).headers.allow).toBe('GET, POST, OPTIONS')
  },
)

it.each(['*/*', 'application/*', 'application/json, application/fhir+json;q=0.5', 'application/fhir+json; charset=utf-8'])(
  'Accept: %s is accepted',
  async (accept) => expect((await site.kickOff('/$export', { headers: { accept } })).status).toBe(202),
)

it.each(['respond-async,handling=lenient', 'handling=strict; respond-async', 'return=minimal, respond-async=true'])(
  'Prefer: %s requests an asynchronous response',
  async (prefer) => expect((await site.kickOff('/$export', { headers: { prefer } })).status).toBe(202),
)

it('a user token needs userExports, and the job belongs to the user', async () => {
  const refused = await site.kickOff('/$export', { caller: { subject: 'u-1' } })
  expect([refused.status, textOf(refused), await site.jobs()]).toEqual([403, expect.stringContaining('FHIR_USER_EXPORTS'), []])
  site = createExportRequests({ userExports: true })
  expect((await site.kickOff('/$export', { caller: { subject: 'u-1' } })).status).toBe(202)
  expect(await site.jobs()).toMatchObject([{ client: 'app', user: 'u-1' }])
  await site.kickOff('/$export')
  expect((await site.jobs()).filter((job) => 'user' in job)).toHaveLength(1)
})

it('a token from a client secret starts an export if the setting allows it', async () => {
  site = createExportRequests({ exportNeedsAssertion: false })
  expect((await site.kickOff('/$export', { caller: { clientAuth: 'secret' } })).status).toBe(202)
})

it('types out of scope are accepted, for the export to omit them', async () => {
  expect((await site.kickOff('/$export?_type=Condition', { caller: { scopes: ['patient/Observation.read'] } })).status).toBe(202)
  expect(await site.jobs()).toMatchObject([{ asked: { types: ['Condition'] }, access: { clauses: [{ type: 'Observation' }] } }])
})

it('a request that is too large for a row is answered 413', async () => {
  const entry = (_: unknown, i: number) => ({ name: '_typeFilter', valueString: `Observation?code=${'c'.repeat(10_000)}-${i}` })
  const answer = await site.kickOff('/Patient/$export', { body: parameters(...Array.from({ length: 25 }, entry)) })
  expect([answer.status, textOf(answer)]).toEqual([413, expect.stringContaining('at most 250000 characters')])
  expect(await site.jobs()).toEqual([])
})

describe('Ten thousand patients', () => {
  const names = Array.from({ length: 10_000 }, (_, i) => `Patient/${String(i).padStart(64, 'p')}`)
  const entries = names.map((reference) => ({ name: 'patient', valueReference: { reference } }))

  it('can be named in one kick-off, and their rows are removed with the job', async () => {
    const body = parameters({ name: '_type', valueString: 'Patient' }, ...entries)
    expect((await site.kickOff('/Patient/$export', { body })).status).toBe(202)
    const [job] = await site.jobs()
    expect(job).toMatchObject({ patients: 10_000, asked: { patients: [], types: ['Patient'] } })
    expect(await readNamedPatients(site.rows, job!, NOW)).toEqual(names)
    await removeJobData({ rows: site.rows, blobs: new MemoryBlobs() }, job!.id)
    expect(await readNamedPatients(site.rows, job!, NOW)).toBeUndefined()
  })

  it('are the maximum: one more is rejected', async () => {
    const body = parameters(...entries, { name: 'patient', valueString: 'one' })
    const answer = await site.kickOff('/Patient/$export', { body })
    expect([answer.status, textOf(answer)]).toEqual([400, expect.stringContaining('more than 10000 times')])
  })

  it('are processed in separate turns of the event loop, also by concurrent kick-offs', async () => {
    site = createExportRequests({ maxRunningExports: 9 })
    let time = performance.now()
    // Every reading of the clock uses up a time slice.
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => (time += 50))
    let answers: readonly { readonly status: number }[] = []
    const turns = await countTurnsDuring(async () => {
      const body = parameters(...entries.slice(0, 4_001))
      answers = await Promise.all(Array.from({ length: 9 }, () => site.kickOff('/Patient/$export', { body })))
    })
    clock.mockRestore()
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 202))
    // Two turns, and one for each of three rows. The first request waits for no turn.
    expect(turns).toBeGreaterThanOrEqual(9 * 5 - 1)
  })

  it('are not stored if the kick-off is refused', async () => {
    site = createExportRequests({ maxRunningExports: 1 })
    await site.kickOff('/$export')
    expect((await site.kickOff('/Patient/$export', { body: parameters(...entries) })).status).toBe(429)
    expect(await readNamedPatients(site.rows, { ...(await site.jobs())[0]!, id: 'job-2', patients: 1 }, NOW)).toBeUndefined()
  })
})

describe('The exports of one client', () => {
  it('run up to the limit of the setting, and each that ends admits another', async () => {
    site = createExportRequests({ maxRunningExports: 2 })
    expect([(await site.kickOff('/$export')).status, (await site.kickOff('/$export')).status]).toEqual([202, 202])
    const refused = await site.kickOff('/$export')
    expect([refused.status, refused.headers['retry-after'], textOf(refused)]).toEqual([429, '60', expect.stringContaining('2 exports')])
    expect((await site.kickOff('/$export', { caller: { client: 'other' } })).status).toBe(202)
    await site.change('job-1', { state: 'complete', ended: NOW })
    expect((await site.kickOff('/$export')).status).toBe(202)
    expect((await site.kickOff('/$export')).status).toBe(429)
    await site.send('DELETE', '/export/job-2')
    expect((await site.kickOff('/$export')).status).toBe(202)
    expect((await site.jobs()).filter(({ state, client }) => state === 'in-progress' && client === 'app')).toHaveLength(2)
  })

  it('are counted without those of another tenant', async () => {
    site = createExportRequests({ maxRunningExports: 1 })
    expect((await site.kickOff('/$export')).status).toBe(202)
    expect((await site.kickOff('/$export', { caller: { tenant: 'south' } })).status).toBe(202)
    for (const tenant of ['north', 'south']) expect((await site.kickOff('/$export', { caller: { tenant } })).status).toBe(429)
  })

  it('respect the limit when kick-offs race, and refused ones leave nothing', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => site.kickOff('/$export')))
    expect(answers.filter(({ status }) => status === 202)).toHaveLength(5)
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(15)
    expect([(await site.jobs()).length, site.workflowCalls.length]).toEqual([5, 5])
  })
})
