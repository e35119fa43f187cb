/** What no table of requests has: guards that others hold, conditions whose parameter comes and goes, errors that could name what is hidden. */
import { afterEach, expect, it } from '@jest/globals'
import { openSite, operatorOf, type Site, type TestResponse } from '../site.ts'
import type { Caller, Json } from './oracle.ts'
import { observation } from './population.ts'

const OPERATOR = operatorOf('north')
const APP: Caller = { tenant: 'north', client: 'app', scopes: 'patient/*.cruds', patient: 'a' }

let site: Site
afterEach(() => site.close())

const about = (patient: string, more: Json = {}): Json =>
  observation('laboratory', { subject: { reference: `Patient/${patient}` }, ...more })
const put = (json: Json): Promise<TestResponse> => site.ask(OPERATOR, 'PUT', `/${json.resourceType}/${json.id}`, { body: json })

async function opened(settings: Readonly<Record<string, string>> = {}, report?: (error: unknown) => void): Promise<void> {
  site = await openSite({ settings, ...(report && { report }) })
  for (const id of ['a', 'b']) await put({ resourceType: 'Patient', id })
}

const parameter = (code: string, type: string, expression: string): Json => ({
  ...{ resourceType: 'SearchParameter', id: code, url: `urn:${code}`, name: 'own', status: 'active', description: 'x' },
  ...{ code, base: ['Observation'], type, expression },
})

it.each([
  ['POST', 'Observation', { 'if-none-exist': 'identifier=same' }],
  ['PUT', 'Observation?identifier=same', {}],
])('a hidden resource does not block a conditional write: %s', async (method, target, headers) => {
  await opened()
  const identifier = [{ value: 'same' }]
  const by = (who: Caller, patient: string, id: string) =>
    site.ask(who, method, `/${target}`, { body: about(patient, { id, identifier }), headers })
  expect((await by(OPERATOR, 'b', 'hidden')).status).toBe(201)
  expect((await by(APP, 'a', 'mine')).status).toBe(201)
  expect((await by(APP, 'a', 'mine')).status).toBe(200)
})

it('a scope with a custom parameter grants nothing while the parameter is missing', async () => {
  await opened()
  const who: Caller = { tenant: 'north', client: 'app', scopes: 'system/Observation.rs?note-author=me' }
  await put(about('b', { id: 'noted', note: [{ authorString: 'me', text: 'x' }] }))
  await put(about('b', { id: 'other', note: [{ authorString: 'you', text: 'x' }] }))
  const found = async () => {
    const read = await site.ask(who, 'GET', '/Observation/noted')
    const { body } = await site.ask(who, 'GET', '/Observation')
    return [read.status, (body.entry ?? []).map(({ resource }: Json) => resource.id).join()]
  }
  expect(await found()).toEqual([404, ''])
  const author = parameter('note-author', 'string', 'Observation.note.author.ofType(string)')
  expect((await put(author)).status).toBe(201)
  const states = new Set<string>()
  for (let i = 0; i < 1_000 && !states.has('200 noted'); i++) states.add((await found()).join(' '))
  // Nothing while it is made, then what it is about, and never the other.
  expect([...states].filter((state) => !['404 ', '404 noted', '200 ', '200 noted'].includes(state))).toEqual([])
  expect(states).toContain('200 noted')
  await site.ask(OPERATOR, 'DELETE', '/SearchParameter/note-author')
  let last: readonly unknown[] = []
  for (let i = 0; i < 1_000 && last.join(' ') !== '404 '; i++) last = await found()
  expect(last).toEqual([404, ''])
})

it('an unindexable resource blocks conditional writes only of clients that may find it', async () => {
  const reports: string[] = []
  await opened({}, (error) => void reports.push(String(error)))
  const expression = 'Observation.repeat(note).text.where($this is string).single()'
  expect((await put(parameter('one-note', 'string', expression))).status).toBe(201)
  const notes = [{ text: 'one' }, { text: 'two' }]
  const create = async (who: Caller, id: string) => {
    const sent = { body: about('a', { id }), headers: { 'if-none-exist': 'one-note=never' } }
    return (await site.ask(who, 'POST', '/Observation', sent)).status
  }
  const status = async () => (await site.ask(OPERATOR, 'GET', '/$reindex-status')).text
  for (let i = 0; i < 1_000 && !(await status()).includes('"active"'); i++);
  await put(about('b', { id: 'hidden', note: notes }))
  expect(await status()).toContain('Observation/hidden/_history/1')
  expect(await create(OPERATOR, 'first')).toBe(403)
  expect(await create(APP, 'first')).toBe(201)
  await put(about('a', { id: 'shown', note: notes }))
  expect(await create(APP, 'second')).toBe(403)
  const line = /^Error: Observation\/hidden\/_history\/1 of tenant north is not indexed: parameter one-note: Error\. /
  expect([...new Set(reports)]).toEqual([expect.stringMatching(line)])
})

it('a deletion blocked by a reference names only visible resources', async () => {
  await opened({ FHIR_REFERENTIAL_INTEGRITY: 'on' })
  await put(about('a', { id: 'target' }))
  await put(about('b', { id: 'hidden', focus: [{ reference: 'Observation/target' }] }))
  const deletion = (scopes = APP.scopes) => site.ask({ ...APP, scopes }, 'DELETE', '/Observation/target')
  expect(await deletion()).toMatchObject({ status: 409, text: expect.stringContaining('another resource refers to it') })
  const report = {
    resourceType: 'DiagnosticReport',
    id: 'report',
    status: 'final',
    code: { text: 'x' },
    subject: { reference: 'Patient/a' },
  }
  await put({ ...report, result: [{ reference: 'Observation/target' }] })
  expect(await deletion()).toMatchObject({ status: 409, text: expect.stringContaining('DiagnosticReport/report refers to it') })
  const ofOne = await deletion('patient/Observation.cruds')
  expect(ofOne).toMatchObject({ status: 409, text: expect.stringContaining('another resource refers to it') })
  await site.ask(OPERATOR, 'DELETE', '/DiagnosticReport/report')
  await put(about('a', { id: 'shown', focus: [{ reference: 'Observation/target' }] }))
  expect(await deletion()).toMatchObject({ status: 409, text: expect.stringContaining('Observation/shown refers to it') })
  const [hidden, never] = await Promise.all(
    ['hidden', 'never'].map((id) =>
      site.ask(APP, 'POST', '/Observation', { body: about('a', { id: `to-${id}`, focus: [{ reference: `Observation/${id}` }] }) }),
    ),
  )
  expect([hidden!.status, hidden!.text]).toEqual([422, never!.text.replaceAll('never', 'hidden')])
})

const FHIR_PATH = (path: string, name: unknown = 'path') => ({
  resourceType: 'Parameters',
  parameter: [
    {
      name: 'operation',
      part: [
        { name: 'type', valueCode: 'replace' },
        { name, valueString: path },
        { name: 'value', valueCode: 'amended' },
      ],
    },
  ],
})

it('a patch by a client without read access discloses no values', async () => {
  await opened({ FHIR_NO_OP_UPDATES: 'ignore' })
  await put(about('a', { id: 'mine', note: [{ text: 'secret' }] }))
  const patchBy = async (scopes: string, document: Json) => {
    const isJson = Array.isArray(document)
    const body = isJson ? Buffer.from(JSON.stringify(document)) : document
    const headers: Record<string, string> = isJson ? { 'content-type': 'application/json-patch+json' } : {}
    const { status, text, headers: answered } = await site.ask({ ...APP, scopes }, 'PATCH', '/Observation/mine', { body, headers })
    return { status, text, etag: answered.etag }
  }
  const blind = (document: Json) => patchBy('patient/Observation.u', document)
  const test = (value: string, op: unknown = 'test') => [{ op, path: '/note/0/text', value }]
  const status = (value: string, name: unknown = 'path') => FHIR_PATH(`Observation.where(note.text = '${value}').status`, name)
  const inSecond = ({ parameter, ...rest }: Json) => ({ ...rest, parameter: [...FHIR_PATH('Observation.status').parameter, ...parameter] })
  const language = { op: 'add', path: '/language', value: 'de' }
  const looking = [
    [test('secret'), test('other')],
    [
      [language, ...test('secret')],
      [language, ...test('other')],
    ],
    [[{ op: 'copy', from: '/status', path: '/language' }], [{ op: 'copy', from: '/code', path: '/language' }]],
    [[{ op: 'move', from: '/status', path: '/language' }], [{ op: 'move', from: '/none', path: '/language' }]],
    [status('secret'), status('other')],
    [inSecond(status('secret')), inSecond(status('other'))],
    [FHIR_PATH("Observation.status[iif(status = 'final', 0, 9)]"), FHIR_PATH("Observation.status[iif(status = 'x', 0, 9)]")],
  ]
  for (const [right, wrong] of looking) {
    const answers = [await blind(right), await blind(wrong)]
    expect(answers.map(({ status }) => status)).toEqual([403, 403])
    expect(answers[0]).toEqual(answers[1])
  }
  const malformed = [
    [test('secret', ['test']), test('other', ['test'])],
    [status('secret', ['path']), status('other', ['path'])],
  ]
  for (const [right, wrong] of malformed) {
    const answers = [await blind(right), await blind(wrong)]
    expect(answers[0]).toMatchObject({ status: 400 })
    expect(answers[0]).toEqual(answers[1])
  }
  // What changes nothing is a version like any other: an equal value is not told from another one.
  const replaced = (value: string) => blind([{ op: 'replace', path: '/note/0/text', value }])
  expect(await replaced('secret')).toEqual({ status: 200, text: '', etag: 'W/"2"' })
  expect(await replaced('other')).toEqual({ status: 200, text: '', etag: 'W/"3"' })
  expect(await blind(FHIR_PATH('Observation.status'))).toEqual({ status: 200, text: '', etag: 'W/"4"' })
  const failures = [
    await blind([{ op: 'remove', path: '/bodySite' }]),
    await blind([{ op: 'add', path: '/status', value: 'nonsense' }]),
    await blind(FHIR_PATH('Observation.bodySite')),
  ]
  for (const failure of failures) expect(failure).toEqual(failures[0])
  expect(failures[0]).toMatchObject({ status: 422 })
})

it('a patch by a client without read access discloses no dangling references', async () => {
  await opened({ FHIR_REFERENTIAL_INTEGRITY: 'on' })
  await put(about('b', { id: 'theirs' }))
  await put(about('a', { id: 'mine', derivedFrom: [{ reference: 'Observation/theirs' }] }))
  const patchBy = (scopes: string) =>
    site.ask({ ...APP, scopes }, 'PATCH', '/Observation/mine', {
      body: Buffer.from(JSON.stringify([{ op: 'add', path: '/language', value: 'de' }])),
      headers: { 'content-type': 'application/json-patch+json' },
    })
  expect(await patchBy('patient/Observation.u')).toMatchObject({ status: 422, text: expect.not.stringContaining('theirs') })
  expect(await patchBy('patient/Observation.ru')).toMatchObject({ status: 422, text: expect.stringContaining('Observation/theirs') })
})

it.each([
  ['named', 'https://foo/Practitioner/9'],
  ['relative', 'Practitioner/9'],
])('a patch without read access discloses no references by fullUrl: %s', async (_, fullUrl) => {
  await opened()
  const performer = [{ reference: 'Practitioner/9' }]
  await put(about('a', { id: 'mine', performer, extension: [{ url: 'http://x/y', valueUri: 'Practitioner/9' }] }))
  const encoded = (operations: readonly Json[]) => Buffer.from(JSON.stringify(operations)).toString('base64')
  const patchOf = (operation: Json): Json => ({
    fullUrl: 'https://foo/Observation/mine',
    resource: { resourceType: 'Binary', contentType: 'application/json-patch+json', data: encoded([operation]) },
    request: { method: 'PATCH', url: 'Observation/mine' },
  })
  const guess = (url: string, operation: Json = { op: 'add', path: '/language', value: 'en' }, to = 'own') => {
    const written = { fullUrl: url, resource: about('a', { id: to }), request: { method: 'PUT', url: `Observation/${to}` } }
    const body = { resourceType: 'Bundle', type: 'transaction', entry: [patchOf(operation), written] }
    return site.ask({ ...APP, scopes: 'patient/Observation.u' }, 'POST', '/', { body })
  }
  expect([(await guess(fullUrl)).status, (await guess(fullUrl.replace('9', '8'))).status]).toEqual([200, 200])
  const kept = async () => (await site.ask(OPERATOR, 'GET', '/Observation/mine')).body
  expect(await kept()).toMatchObject({ performer, extension: [{ valueUri: 'Practitioner/9' }] })
  // What it sends itself means what the Bundle says, beside what is there.
  const focus = { op: 'add', path: '/focus', value: [{ reference: fullUrl }] }
  expect((await guess(fullUrl, focus)).status).toBe(200)
  expect(await kept()).toMatchObject({ performer, focus: [{ reference: 'Observation/own' }] })
  const wrong = await guess(fullUrl, { op: 'add', path: '/performer/-', value: { reference: fullUrl } })
  expect(wrong).toMatchObject({
    status: 422,
    text: expect.stringContaining('The patch does not apply, or what it would make is not valid'),
  })
  expect(wrong.text).not.toContain('performer')
})

it.each(['r', 's'])('a patch discloses the test result to a client with scope %s', async (letter) => {
  await opened({ FHIR_NO_OP_UPDATES: 'ignore' })
  await put(about('a', { id: 'mine', note: [{ text: 'secret' }] }))
  const test = (value: string) =>
    site.ask({ ...APP, scopes: `patient/Observation.${letter} patient/Observation.u` }, 'PATCH', '/Observation/mine', {
      body: Buffer.from(JSON.stringify([{ op: 'test', path: '/note/0/text', value }])),
      headers: { 'content-type': 'application/json-patch+json' },
    })
  const held = await test('secret')
  expect([held.status, held.headers.etag, held.text.includes('secret')]).toEqual([200, 'W/"1"', letter === 'r'])
  expect(await test('other')).toMatchObject({ status: 422, text: expect.stringContaining('The test of operation 0 does not hold') })
})

it('a type named in _include or _revinclude must be in scope', async () => {
  await opened()
  const who: Caller = { tenant: 'north', client: 'app', scopes: 'system/Observation.rs' }
  const status = async (query: string) => (await site.ask(who, 'GET', `/Observation?${query}`)).status
  expect(await status('_include=Observation:subject')).toBe(200)
  expect(await status('_include=Observation:subject:Patient')).toBe(403)
  expect(await status('_include:iterate=Patient:organization')).toBe(403)
  expect(await status('_revinclude=Provenance:target')).toBe(403)
})

it('cursors and stored queries are bound to client, patient and tenant', async () => {
  await opened()
  for (const id of ['1', '2', '3']) await put(about('a', { id }))
  const { body } = await site.ask(APP, 'POST', '/Observation/_search', { body: 'category=laboratory&_count=1' })
  const next = body.link.find(({ relation }: Json) => relation === 'next').url.replace(/^.*(?=\/Observation)/, '')
  expect((await site.ask(APP, 'GET', next)).status).toBe(200)
  expect((await site.ask({ ...APP, patient: 'b' }, 'GET', next)).body.entry).toBeUndefined()
  expect((await site.ask({ ...APP, client: 'other' }, 'GET', next)).status).toBe(400)
  expect((await site.ask({ ...APP, tenant: 'south' }, 'GET', next)).status).toBe(400)
})
