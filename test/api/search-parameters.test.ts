/** Search parameters somebody defines: built while searches and writes go on, searched by once they are complete, kept over restarts. */
import { subscribe } from 'node:diagnostics_channel'
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import type { EmbeddedServer } from '../../lambdas/runtime/embedded/server.ts'
import { newFolder, runAtEnd } from '../fixtures/at-end.ts'
import { eventually } from '../fixtures/eventually.ts'
import { caseCountOf, isFullRun } from '../fixtures/long-runs.ts'
import { patient } from '../fixtures/resources.ts'
import { clientOf, issuesOf, newId, startServer, type TestClient, type Tree } from './server.ts'

let embedded: EmbeddedServer
let client: TestClient
const reports: string[] = []
/** Those that were started since the server was. */
const threads: unknown[] = []
subscribe('worker_threads', (started) => threads.push(started))
const folder = newFolder()

async function open(): Promise<void> {
  const started = await startServer({}, folder, (error) => reports.push(String(error)))
  embedded = started.embedded
  threads.splice(0)
  client = clientOf(() => started.base)
}

const parameter = (id: string, more: object): Tree => ({
  resourceType: 'SearchParameter',
  id,
  url: `http://example.org/${id}`,
  name: id,
  status: 'active',
  description: 'x',
  code: id,
  base: ['Patient'],
  type: 'string',
  ...more,
})
const put = (resource: Tree) => client.put(`/${resource.resourceType}/${resource.id}`, resource)
const define = async (resource: Tree): Promise<void> => {
  const { status, text } = await put(resource)
  expect([status < 300, status < 300 ? '' : text]).toEqual([true, ''])
  await settled()
}
/** Maximum milliseconds to wait for the index. Many slow expressions delay it for minutes. */
const LONGEST = 15 * 60_000
/** Repeats the request while the index is behind. */
async function got(...asked: Parameters<TestClient['get']>): ReturnType<TestClient['get']> {
  const ask = async (): ReturnType<TestClient['get']> => {
    const answer = await client.get(...asked)
    if (answer.status === 503) expect(answer.headers.get('retry-after')).toMatch(/^\d+$/)
    return answer
  }
  return eventually(ask, { until: ({ status }) => status !== 503, every: 100, within: LONGEST })
}
/** Everything that was defined is built. */
async function settled(): Promise<void> {
  const unfinished = async (): Promise<readonly Tree[]> => {
    const { body } = await got('/$reindex-status')
    expect(body.parameter[0]).toEqual({ name: 'lag', valueInteger: expect.any(Number) })
    const parts = body.parameter.flatMap(({ part = [] }: Tree) => part)
    return parts.filter(({ name, valueCode }: Tree) => name === 'type' || valueCode === 'building')
  }
  await eventually(unfinished, { until: ({ length }) => length === 0, every: 10, within: LONGEST })
}
const found = async (query: string): Promise<string | number> => {
  const { status, body } = await got(`/${query}`, { prefer: 'handling=strict' })
  if (status !== 200) return status
  return (body.entry ?? [])
    .filter(({ search }: Tree) => search.mode !== 'outcome')
    .map(({ resource }: Tree) => resource.id)
    .join(' ')
}
const nicknamed = (id: string, nick: string, more: object = {}): Tree =>
  patient(id, {
    name: [
      { use: 'nickname', given: [nick] },
      { use: 'official', given: ['Formal'] },
    ],
    ...more,
  })

beforeAll(async () => {
  await open()
  await put({ resourceType: 'Organization', id: 'club', name: 'Chess Club' })
  for (let i = 0; i < 300; i++) await put(nicknamed(`p${i}`, `Nick${i % 3}`))
  const extension = [
    { url: 'http://example.org/club', valueReference: { reference: 'Organization/club' } },
    { url: 'http://example.org/since', valueDate: '2020-05-14' },
    { url: 'http://example.org/colour', valueCodeableConcept: { coding: [{ system: 'urn:c', code: 'red' }] } },
  ]
  await put(nicknamed('member', 'Zed', { extension }))
  for (const each of [NICKNAME, ...OF_EXTENSIONS]) await define(each)
})
runAtEnd(() => embedded.close())
afterEach(() => expect(reports.splice(0)).toEqual([]))

const NICKNAMES = { expression: "Patient.name.where(use = 'nickname').given" }
const OFFICIAL = { expression: "Patient.name.where(use = 'official').given" }
const GIVEN = { expression: 'Patient.name.given' }
const NICKNAME = parameter('nickname', NICKNAMES)
const OF_EXTENSIONS = [
  parameter('club', { type: 'reference', target: ['Organization'], expression: "Patient.extension.where(url = 'http://example.org/club').value" }),
  parameter('since', { type: 'date', expression: "Patient.extension.where(url = 'http://example.org/since').value.ofType(date)" }),
  parameter('colour', { type: 'token', expression: "Patient.extension.where(url = 'http://example.org/colour').value as CodeableConcept" }),
] // biome-ignore format: a table

/** Each is stopped where it is evaluated, one resource after the other. */
const LONG: readonly (readonly [string, string, string])[] = [
  ['slow', 'TookTooLong', "Patient.repeat(name).family.where($this.matches('^(a+)+$'))"],
  ['split', 'Too\\w+', `Patient.name.where(family = 'ends').family${'.select($this & $this)'.repeat(24)}.toChars().count().toString()`],
  ['endless', 'TookTooLong', "Patient.repeat(name).where(family = 'ends').family.select((1 | 2 | 3).repeat(($this + 1) | ($this * 2)))"],
]

describe('a new parameter', () => {
  it('is unknown until it is built, and then finds earlier documents', async () => {
    expect(await found('Patient?first=zed')).toBe(400)
    await define(parameter('first', NICKNAMES))
    expect(await found('Patient?first=zed')).toBe('member')
    expect((await client.get('/Patient?first=nick1&_summary=count')).body.total).toBe(100)
    expect(await found('Patient?first=formal')).toBe('')
    expect(await found('Patient?first:exact=Zed')).toBe('member')
    const { body } = await client.get('/metadata')
    const { searchParam } = body.rest[0].resource.find(({ type }: Tree) => type === 'Patient')
    expect(searchParam.at(-1)).toEqual({ name: 'first', definition: 'http://example.org/first', type: 'string' })
  })

  it('is read with its state', async () => {
    const { body } = await client.get('/SearchParameter/nickname')
    expect(body.extension).toEqual([{ url: expect.stringMatching(/search-parameter-state$/), valueCode: 'active' }])
  })

  it('finds resources written during the build and afterwards', async () => {
    const writes: Promise<unknown>[] = []
    for (let i = 0; i < 50; i++) await put(nicknamed(`early${i}`, 'Early'))
    await put(parameter('second', GIVEN))
    for (let i = 0; i < 50; i++) writes.push(put(nicknamed(`late${i}`, 'Late')))
    for (let i = 0; i < 50; i++) writes.push(put(nicknamed(`early${i}`, 'Changed')))
    await Promise.all(writes)
    await settled()
    const count = async (query: string) => (await client.get(`/Patient?${query}&_summary=count`)).body.total
    expect(await count('second=late')).toBe(50)
    expect(await count('second=changed')).toBe(50)
    expect(await count('second=formal&nickname=nick,late,changed,zed')).toBe(401)
    expect(await count('nickname=early')).toBe(0)
  })

  it.each([
    ['reference', 'club', 'club=club', 'club=nothing'],
    ['date', 'since', 'since=2020-05', 'since=gt2020-05-14'],
    ['token', 'colour', 'colour=urn:c|red', 'colour=urn:d|red'],
  ])('can have the type %s', async (_, code, hit, miss) => {
    expect([await found(`Patient?${hit}`), await found(`Patient?${miss}`)]).toEqual(['member', ''])
    expect(await found(`Patient?${code}:missing=false`)).toBe('member')
  })

  it('supports sorting, grouping, chaining and including', async () => {
    expect(await found('Patient?_sort=-nickname&_count=1')).toBe('member')
    expect(await found('Patient?club.name=chess')).toBe('member')
    expect(await found('Organization?_has:Patient:club:nickname=zed')).toBe('club')
    expect(await found('Patient?colour=red&_include=Patient:club')).toBe('member club')
    expect(await found('Patient?colour=red&_group=colour:code')).toBe('member')
  })
})

describe('an invalid definition', () => {
  it.each([
    [422, { expression: 'Patient.name.where(' }, 'SearchParameter.expression'],
    [422, { expression: 'Patient.nothing' }, 'SearchParameter.expression'],
    [422, {}, 'SearchParameter.expression'],
    [422, { expression: 'Patient', type: 'special' }, 'SearchParameter.type'],
    [400, { expression: 'Patient.name', base: ['Nothing'] }, 'SearchParameter.base[0]'],
    [422, { expression: 'Patient.name', code: '1a' }, 'SearchParameter.code'],
  ])('is rejected with %i: %j', async (expected, more, place) => {
    const { status, body } = await put(parameter('wrong', more))
    expect([status, body.issue[0].expression]).toEqual([expected, [place]])
    expect((await client.get('/SearchParameter/wrong')).status).toBe(404)
  })

  it('is stored as a draft', async () => {
    expect((await put(parameter('draft', { status: 'draft' }))).status).toBe(201)
    expect(await found('Patient?draft=x')).toBe(400)
  })
})

describe('a composite parameter', () => {
  const component = (definition: string, expression: string) => ({ definition, expression })
  const NAME_PARTS = parameter('name-use-family', {
    type: 'composite',
    expression: 'Patient.name',
    component: [
      component('http://example.org/use', 'use'),
      component('http://hl7.org/fhir/SearchParameter/individual-family|4.0.1', 'family'),
    ],
  })
  const two = (id: string, first: string, second: string): Tree => ({
    resourceType: 'Patient',
    id,
    name: [
      { use: 'usual', family: first },
      { use: 'old', family: second },
    ],
  })

  beforeAll(() => define(parameter('use', { type: 'token', expression: 'Patient.name.use' })))

  it('is rejected while a component is unknown, with the location', async () => {
    const [use, family] = NAME_PARTS.component
    const { status, body } = await put({ ...NAME_PARTS, component: [{ ...use, definition: 'http://example.org/unknown' }, family] })
    expect([status, body.issue[0].expression]).toEqual([422, ['SearchParameter.component[0]']])
    expect(body.issue[0].details?.text ?? body.issue[0].diagnostics).toContain('http://example.org/unknown is neither')
  })

  it('finds values that occur together, for components of R4 and of this server', async () => {
    await define(NAME_PARTS)
    await put(two('adams', 'Adams', 'Baker'))
    await put(two('baker', 'Baker', 'Adams'))
    expect(await found('Patient?name-use-family=usual$adams')).toBe('adams')
    expect(await found('Patient?name-use-family=old$adams')).toBe('baker')
    expect(await found('Patient?name-use-family=usual$adams,usual$baker')).toBe('adams baker')
    expect(await found('Patient?name-use-family=usual')).toBe(400)
  })

  it('is evaluated by fhirpath.js if one part is not compiled', async () => {
    const expression = "given.aggregate(iif($total.empty(), $this, $total & ' ' & $this))"
    const components = [
      component('http://example.org/use', 'use'),
      component('http://hl7.org/fhir/SearchParameter/individual-given', expression),
    ]
    await define(parameter('use-all-given', { type: 'composite', expression: 'Patient.name', component: components }))
    await put({
      resourceType: 'Patient',
      id: 'many',
      name: [
        { use: 'usual', given: ['Ann', 'Bea'] },
        { use: 'old', given: ['Ann'] },
      ],
    })
    expect(await found('Patient?use-all-given=usual$ann bea')).toBe('many')
    expect(await found('Patient?use-all-given=old$ann bea')).toBe('')
  })

  it.each([
    ['SearchParameter.component[1]', [component('http://example.org/use', 'use'), component('http://example.org/use', 'nothing')]],
    ['SearchParameter.component[1]', [component('http://example.org/use', 'use'), component('http://example.org/use', 'given.where(')]],
    ['SearchParameter.component[0]', [component('http://hl7.org/fhir/SearchParameter/Observation-code-value-quantity', 'use')]],
    ['SearchParameter.component', undefined],
  ])('is rejected at %s for %j', async (place, component) => {
    const { status, body } = await put(parameter('wrong', { type: 'composite', expression: 'Patient.name', component }))
    expect([status, body.issue[0].expression]).toEqual([422, [place]])
  })
})

describe('an expression that is not compiled', () => {
  const TOWN = 'http://example.org/town'
  const nested = (id: string, town: string, inner?: string): Tree => {
    const extension = [{ url: TOWN, valueString: town }]
    return { resourceType: 'Patient', id, extension: inner === undefined ? extension : [{ url: TOWN, extension: [...extension, { url: TOWN, valueString: inner }] }] }
  } // biome-ignore format: one tree
  const unreadable = async (): Promise<readonly string[]> => {
    const { body } = await client.get('/$reindex-status')
    const parts = body.parameter.filter(({ name }: Tree) => name === 'unreadable').map(({ part }: Tree) => part)
    return parts.map(([{ valueReference }, { valueString }]: Tree) => `${valueReference.reference} ${valueString}`)
  }

  beforeAll(async () => {
    await put(nested('york', 'York', 'Leeds'))
    await define(parameter('town', { expression: 'Patient.repeat(extension).value.ofType(string)' }))
    await put(nested('bath', 'Bath'))
    const extension = [{ url: 'urn:d', extension: [{ url: 'urn:dose', valueQuantity: { value: 1.5, system: 'http://unitsofmeasure.org', code: 'mg' } }, { url: 'urn:clinic', valueReference: { reference: 'Organization/club' } }] }] // biome-ignore format: one extension
    await client.put('/Patient/dosed', JSON.stringify({ resourceType: 'Patient', id: 'dosed', extension }).replace('1.5', '1.50'), {
      'content-type': 'application/fhir+json',
    })
    await define(parameter('dose', { type: 'quantity', expression: "Patient.repeat(extension).where(url = 'urn:dose').value" }))
    await define(
      parameter('clinic', { type: 'reference', target: ['Organization'], expression: "Patient.repeat(extension).where(url = 'urn:clinic').value.where(resolve() is Organization)" }),
    ) // biome-ignore format: one parameter
  })

  it('is evaluated by fhirpath.js for earlier and later documents', async () => {
    expect(await found('Patient?town=york')).toBe('york')
    expect(await found('Patient?town=leeds,bath&_sort=town')).toBe('bath york')
    expect(await found('Patient?town:missing=false&_id=bath,york,member')).toBe('bath york')
  })

  it('keeps the types and decimals of the resource', async () => {
    expect(await found('Patient?dose=0.0015|http://unitsofmeasure.org|g')).toBe('dosed')
    expect(await found('Patient?dose=1.50|http://unitsofmeasure.org|mg&_include=Patient:clinic')).toBe('dosed club')
    expect(await found('Patient?clinic.name=chess')).toBe('dosed')
  })

  it('is available after a restart', async () => {
    await embedded.close()
    await open()
    expect(await found('Patient?town=york')).toBe('york')
    await put(nested('hull', 'Hull'))
    expect(await found('Patient?town=hull')).toBe('hull')
    expect(await found('Patient?dose=1.50|http://unitsofmeasure.org|mg&_include=Patient:clinic')).toBe('dosed club')
  })

  it.each([
    ['Patient.name.repeat(given', /line: 1; column: 25/],
    ['Patient.name.given.unheardOf()', /unheardOf/],
    ['Patient.name.repeat(given).where(now() > @2020)', /now\(/],
    [`${'('.repeat(50_000)}Patient${')'.repeat(50_000)}`, /at most 10000 characters/],
    // On a fast machine the stack ends first, on a slow one the time.
    [`${'('.repeat(4_000)}Patient${')'.repeat(4_000)}`, /cannot be used|takes too long/],
  ])('is rejected with the reason if it is wrong (%#)', async (expression, reason) => {
    const { status, body, text } = await put(parameter('wrong', { expression }))
    expect([status, body.issue[0].expression]).toEqual([422, ['SearchParameter.expression']])
    expect(text).toMatch(reason)
  })

  it('is reported per resource that it fails on, which keeps other parameters', async () => {
    await define(parameter('only-given', { expression: 'Patient.repeat(name).given.where($this is string).single()' }))
    const single = { resourceType: 'Patient', id: 'single', name: [{ given: ['Solo'] }] }
    await put(single)
    expect(await found('Patient?only-given=solo')).toBe('single')
    expect(await found('Patient?_id=member&nickname:missing=false')).toBe('member')
    const state = await unreadable()
    expect(state).toContain('Patient/member/_history/1 parameter only-given: Error')
    expect(state.some((text) => text.startsWith('Patient/single/'))).toBe(false)
    expect(reports.splice(0)).toEqual([
      expect.stringMatching(/^Error: Patient\/[\w-]+\/_history\/\d of tenant default is not indexed: parameter only-given: Error\. /),
    ])
    await put({ ...single, id: 'solo' })
    expect(await found('Patient?only-given=solo')).toBe('single solo')
    await client.delete('/SearchParameter/only-given')
    expect(await unreadable()).toEqual([])
    expect(await found('Patient?only-given=solo')).toBe(400)
  })

  it.each([
    ['slow-pattern', 'TookTooLong', "Patient.name.family.where($this.matches('^(a+)+$'))"],
    ['doubled', 'TooCostly', `Patient.name.where(family = 'ends').family${'.select($this & $this)'.repeat(28)}`],
    ...(isFullRun ? LONG : []),
  ])('is stopped if it takes too long (%s), and delays nothing else', async (code, reason, expression) => {
    await put({ resourceType: 'Patient', id: 'trap', name: [{ family: `${'a'.repeat(60)}b` }, { family: 'ends' }] })
    await define(parameter(code, { type: code === 'endless' ? 'number' : 'string', expression }))
    expect(await found('Patient?_id=trap&family=ends')).toBe('trap')
    expect(await found(`Patient?_id=trap&${code}:missing=true`)).toBe('trap')
    expect(await unreadable()).toEqual([expect.stringMatching(`^Patient/trap/_history/\\d parameter ${code}: ${reason}$`)])
    expect(reports.splice(0)).toEqual([
      expect.stringMatching(`^Error: Patient/trap/_history/\\d of tenant default is not indexed: parameter ${code}: ${reason}\\. `),
    ])
    expect(threads).toEqual([])
    await client.delete(`/SearchParameter/${code}`)
    await client.delete('/Patient/trap')
  })

  it('serves conditional interactions until a resource is unindexable: then they are 403', async () => {
    await define(parameter('slow', { expression: "Patient.repeat(name).family.where($this.matches('^(a+)+N?$'))" }))
    const update = (family: string) => client.put('/Patient?slow=aaaN', { resourceType: 'Patient', name: [{ family }] })
    const [first, other] = await Promise.all([update('aaaN'), client.get('/metadata')])
    const again = await update(`${'a'.repeat(60)}b`)
    expect([first.status, other.status, again.status]).toEqual([201, 200, 200])
    // What it now is cannot be told: another would be made of what may be there.
    const create = (query: string) => client.post('/Patient', { resourceType: 'Patient', id: newId() }, { 'if-none-exist': query })
    const undecided = [
      await update('aaaN'),
      await create('slow=aaaN'),
      await create('slow:missing=true&active=true'),
      await client.delete('/Patient?slow=aaaN'),
    ]
    expect(undecided.map((answer) => [answer.status, issuesOf(answer)])).toEqual(Array(4).fill([403, ['error too-costly']]))
    expect(undecided[0]!.text).toContain('The parameter slow has no values of some Patient resources')
    expect([(await create('family=nobody')).status, await found('Patient?slow=aaaN')]).toEqual([201, ''])
    const { id } = again.body
    await put({ resourceType: 'Patient', id, name: [{ family: 'aaaN' }] })
    expect((await create('slow=aaaN')).body.id).toBe(id)
    expect(threads).toEqual([])
    reports.splice(0)
    await client.delete('/SearchParameter/slow')
  })
})

/** Number of slow parameters, more than the runner evaluates at the same time. A tenant may define 200 on a type. */
const MANY = caseCountOf(6, 70)
it('many slow parameters block no search, and are reported', async () => {
  const many = Array.from({ length: MANY }, (_, i) => parameter(`many-${i}`, { expression: `Patient.name.repeat(given).where(matches('^(a+)+${i}$'))` })) // biome-ignore format: one parameter
  const poison = { resourceType: 'Patient', id: 'poison', name: [{ family: 'Poison', given: Array(20).fill(`${'a'.repeat(40)}!`) }] }
  const entry = [...many, poison].map((resource) => ({
    resource,
    request: { method: 'PUT', url: `${resource.resourceType}/${resource.id}` },
  }))
  const { body } = await client.post('/', { resourceType: 'Bundle', type: 'batch', entry })
  expect(new Set(body.entry.map(({ response }: Tree) => response.status))).toEqual(new Set(['201 Created']))
  // Busy is answered after 20 s.
  await found('Patient?family=poison')
  await settled()
  expect(await found('Patient?family=poison')).toBe('poison')
  expect(await found('Patient?many-4=aaa4')).toBe('')
  await put({ ...poison, id: 'fine', name: [{ family: 'Fine', given: ['aaa4'] }] })
  const unreadable = (await client.get('/$reindex-status')).body.parameter.filter(({ name }: Tree) => name === 'unreadable')
  expect(JSON.stringify(unreadable)).toMatch(/Patient\/poison.*parameter many-\d+: TookTooLong/)
  expect(threads).toEqual([])
  reports.splice(0)
  const gone = entry.map(({ request }) => ({ request: { ...request, method: 'DELETE' } }))
  expect((await client.post('/', { resourceType: 'Bundle', type: 'batch', entry: gone })).status).toBe(200)
})

it('a parameter of R4 takes precedence, with a warning', async () => {
  const own = parameter('family', NICKNAMES)
  const { status, body } = await client.put(`/SearchParameter/${own.id}`, own, { prefer: 'return=OperationOutcome' })
  expect([status, body.resourceType, body.issue[0].severity]).toEqual([201, 'OperationOutcome', 'warning'])
  await settled()
  expect(await found('Patient?family=zed')).toBe('')
})

it('a changed expression takes effect once it is built', async () => {
  await define(parameter('changing', NICKNAMES))
  expect(await found('Patient?changing=zed')).toBe('member')
  await define(parameter('changing', OFFICIAL))
  expect(await found('Patient?changing=zed')).toBe('')
  expect((await client.get('/Patient?changing=formal&nickname=nick,zed&_summary=count')).body.total).toBe(301)
})

it('a retired or deleted parameter is unknown', async () => {
  for (const code of ['retired', 'deleted']) await define(parameter(code, GIVEN))
  expect([await found('Patient?retired=zed'), await found('Patient?deleted=zed')]).toEqual(['member', 'member'])
  await define({ ...parameter('retired', GIVEN), status: 'retired' })
  expect(await found('Patient?retired=zed')).toBe(400)
  await client.delete('/SearchParameter/deleted')
  await found('Patient?_id=member')
  await settled()
  expect(await found('Patient?deleted=zed')).toBe(400)
})

it('a parameter is available at once in a recreated index', async () => {
  await define(parameter('late', NICKNAMES))
  await define(parameter('late', OFFICIAL))
  await define(parameter('removed', GIVEN))
  await client.delete('/SearchParameter/removed')
  await embedded.close()
  for (const name of readdirSync(folder)) if (name.startsWith('index.db')) rmSync(join(folder, name))
  await open()
  expect(await found('Patient?late=formal&_id=member')).toBe('member')
  expect(await found('Patient?late=zed')).toBe('')
  expect(await found('Patient?removed=zed')).toBe(400)
  const { body } = await client.get('/$reindex-status')
  expect(body.parameter.filter(({ name }: Tree) => name === 'type')).toEqual([])
  // It meets those of before again.
  reports.splice(0)
  await client.delete('/SearchParameter/late')
})

it('a parameter is available after a restart and after $reindex', async () => {
  await embedded.close()
  await open()
  await settled()
  expect(await found('Patient?club=club')).toBe('member')
  const started = await client.post('/$reindex?type=Patient', undefined)
  expect([started.status, started.headers.get('content-location')]).toEqual([202, expect.stringMatching(/\$reindex-status$/)])
  await settled()
  expect(await found('Patient?club=club')).toBe('member')
  expect((await client.post('/$reindex?type=Nothing', undefined)).status).toBe(400)
})
