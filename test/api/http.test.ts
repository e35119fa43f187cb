/** The protocol: formats, limits, errors, CORS, bad input. Specification 2.5, 7; never a 500, never a partial write. @cloud */
import { describe, expect, it } from '@jest/globals'
import { patient, type Tree } from '../fixtures/resources.ts'
import { isExternalServer, issuesOf, itOnEmbedded, newId, withServer } from './server.ts'

const { base, get, put, post, send } = withServer({ FHIR_MAX_BODY_BYTES: '100000' })

describe('routes', () => {
  it('return 404 with an OperationOutcome for unknown paths', async () => {
    for (const path of ['/Patient/1/2/3/4', '/_nothing', '/$nothing', '/Patient/1/nothing']) {
      const answer = await get(path)
      expect([path, answer.status, answer.body.resourceType]).toEqual([path, 404, 'OperationOutcome'])
    }
  })
  itOnEmbedded('a gateway answers for paths it does not know')('return 404 for an unknown operation, and suggest others', async () => {
    const expected: readonly (readonly [path: string, text: RegExp])[] = [
      ['/Patient/1/$evrything', /this path\. Did you mean \$everything\?$/],
      ['/Patient/$apply-fhirpath', /this path\. \$apply-fhirpath is called at \/\$apply-fhirpath$/],
      ['/$x', /this path$/],
    ]
    for (const [path, text] of expected) {
      const { status, body } = await get(path)
      expect([status, body.issue[0].details.text]).toEqual([404, expect.stringMatching(text)])
    }
  })

  it('return 405 with Allow for an unsupported method', async () => {
    const answer = await send('DELETE', '/metadata')
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS'])
  })
  it('return the methods of the path for OPTIONS', async () => {
    const allowed = async (path: string) => (await send('OPTIONS', path)).headers.get('allow')
    expect([await allowed('/metadata'), await allowed('/Patient/1')]).toEqual([
      'GET, HEAD, OPTIONS',
      'GET, PUT, PATCH, DELETE, HEAD, OPTIONS',
    ])
    for (const path of ['/Kangaroo', '/Kangaroo/1', '/_search', ...(isExternalServer ? [] : ['/a/b/c/d/e'])]) {
      const [, methods = ''] = /^(?:(.*), )?OPTIONS$/.exec((await allowed(path))!)!
      expect([path, methods]).toEqual([path, path === '/_search' ? 'POST' : ''])
    }
  })
  it('return 405 with a hint for a GET of _search', async () => {
    for (const path of ['/_search', '/Patient/_search', '/Patient/1/Observation/_search']) {
      const { status, body } = await get(path)
      expect([path, status, body.issue[0].details.text]).toEqual([path, 405, expect.stringContaining('has no _search')])
    }
  })
  it('reject paths that are not percent-encoded', async () => expect((await get('/Patient/%ff')).status).toBe(400))
})

describe('formats', () => {
  it.each([
    'application/fhir+json',
    'application/json',
    '*/*',
    'text/html, */*;q=0.1',
    'application/*',
    'application/json;q=0, application/fhir+json;q=0.2',
    'application/fhir+xml, application/fhir+json;q=0.001',
    '*/*;q=0, application/fhir+json',
    'application/fhir+json; fhirVersion=4.0',
    'application/json;fhirversion="4.0"; q=0.5',
    'application/fhir+json; fhirVersion=4.0.1',
    'application/fhir+json; fhirVersion=',
    'application/fhir+json; fhirVersion=3.0, application/fhir+json; fhirVersion=4.0; q=0.1',
    'application/fhir+json; fhirVersion=5.0, */*;q=0.1',
    'text/html; fhirVersion=3.0, application/*',
  ])('are JSON for Accept: %s', async (accept) => {
    const answer = await get('/metadata', { accept })
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/fhir+json; charset=utf-8'])
  })
  it.each([
    'application/fhir+xml',
    'text/turtle',
    'application/json;q=0',
    'application/fhir+json;q=0, */*',
    'application/*;q=0, */*;q=0.5',
    'application/fhir+json;q=0, application/json',
    'application/fhir+json; fhirVersion=3.0',
    'application/fhir+json; fhirVersion=5.0, text/html',
    'application/json; fhirVersion="4.3"',
    'application/fhir+json; fhirVersion=4',
  ])('are 406 for Accept: %s', async (accept) => {
    const answer = await get('/metadata', { accept })
    expect([answer.status, issuesOf(answer)]).toEqual([406, ['error not-supported']])
  })
  it('allow bodies of FHIR 4.0 only', async () => {
    for (const [version, status] of [
      ['4.0', 201],
      ['"4.0.1"', 201],
      ['', 201],
      ['3.0', 415],
      ['5.0', 415],
    ] as const) {
      const answer = await post('/Patient', patient(newId()), { 'content-type': `application/fhir+json; fhirVersion=${version}` })
      expect([version, answer.status]).toEqual([version, status])
      if (status === 415) expect(answer.body.issue[0].details.text).toMatch(/FHIR 4\.0/)
    }
    const format = async (version: string) =>
      (await get(`/metadata?_format=${encodeURIComponent(`application/fhir+json; fhirVersion=${version}`)}`)).status
    expect([await format('4.0'), await format('3.0')]).toEqual([200, 406])
  })
  it('prefer _format to Accept', async () => {
    expect((await get('/metadata?_format=json', { accept: 'application/fhir+xml' })).status).toBe(200)
    expect((await get('/metadata?_format=application/fhir%2Bjson')).status).toBe(200)
    expect((await get('/metadata?_format=application/fhir+json')).status).toBe(200)
    expect((await get('/metadata?_format=xml')).status).toBe(406)
    expect((await get('/metadata?_format=')).status).toBe(200)
    expect((await get('/metadata?_format=', { accept: 'application/fhir+xml' })).status).toBe(406)
  })
  it('accept strong and eventual for X-Consistency, and nothing else', async () => {
    const asking = (value: string) => ({ 'x-consistency': value })
    for (const value of ['strong', 'eventual']) {
      expect([value, (await get('/Patient?_count=0', asking(value))).status]).toEqual([value, 200])
      expect([value, (await post('/Patient', patient(newId()), asking(value))).status]).toEqual([value, 201])
    }
    const id = newId()
    for (const value of ['nonsense', 'Strong', 'strong, eventual'])
      for (const answer of [await get('/Patient?_count=0', asking(value)), await post('/Patient', patient(id), asking(value))]) {
        expect([value, answer.status, issuesOf(answer)]).toEqual([value, 400, ['error value']])
        expect(answer.body.issue[0].details.text).toBe('X-Consistency is strong or eventual')
      }
    expect((await get(`/Patient/${id}`)).status).toBe(404)
  })
  it('are indented for _pretty', async () => {
    const id = newId()
    await put(`/Patient/${id}`, patient(id))
    expect((await get(`/Patient/${id}?_pretty=true`)).text.split('\n').length).toBeGreaterThan(5)
  })
  it('are JSON in UTF-8 for bodies, and others are 415', async () => {
    for (const type of ['application/fhir+xml', 'text/plain', 'application/x-www-form-urlencoded', 'application/fhir+json; charset=latin1'])
      expect((await post('/Patient', patient(newId()), { 'content-type': type })).status).toBe(415)
    expect((await post('/Patient', patient(newId()), { 'content-type': 'application/json; charset=UTF-8' })).status).toBe(201)
  })
  itOnEmbedded('the edge compresses')('are compressed for clients that accept gzip', async () => {
    expect((await get('/metadata', { 'accept-encoding': 'gzip' })).headers.get('content-encoding')).toBe('gzip')
    expect((await get('/metadata', { 'accept-encoding': 'identity' })).headers.get('content-encoding')).toBeNull()
    expect((await get('/metadata', { 'accept-encoding': 'gzip;q=0' })).headers.get('content-encoding')).toBeNull()
  })
})

describe('_summary and _elements', () => {
  const id = newId()
  const resource = patient(id, {
    text: { status: 'generated', div: '<div xmlns="http://www.w3.org/1999/xhtml">x</div>' },
    active: true,
    name: [{ family: 'a' }],
    photo: [{ title: 'p' }],
  })
  const SUBSETTED = { system: 'http://terminology.hl7.org/CodeSystem/v3-ObservationValue', code: 'SUBSETTED' }
  it.each([
    ['_summary=true', ['active', 'id', 'meta', 'name', 'resourceType']],
    ['_summary=text', ['id', 'meta', 'resourceType', 'text']],
    ['_summary=data', ['active', 'id', 'meta', 'name', 'photo', 'resourceType']],
    ['_elements=photo', ['id', 'meta', 'photo', 'resourceType']],
    ['_elements=Patient.photo,name', ['id', 'meta', 'name', 'photo', 'resourceType']],
  ])('select elements: %s', async (query, elements) => {
    await put(`/Patient/${id}`, resource)
    const { body } = await get(`/Patient/${id}?${query}`)
    expect(Object.keys(body).sort()).toEqual(elements)
    expect(body.meta.tag).toEqual([SUBSETTED])
  })
  it('keep implicitRules', async () => {
    const ruled = patient(newId(), { implicitRules: 'http://example.org/rules', photo: [{ title: 'p' }] })
    await put(`/Patient/${ruled.id}`, ruled)
    const { body } = await get(`/Patient/${ruled.id}?_summary=true`)
    expect([body.implicitRules, body.photo]).toEqual([ruled.implicitRules, undefined])
  })
  it('select a choice by its stem, and no element by a prefix', async () => {
    const shown = async (body: Readonly<Record<string, unknown>>, query: string) => {
      const path = `/${body.resourceType}/${body.id}`
      expect((await put(path, body)).status).toBeLessThan(300)
      const { meta, ...kept } = (await get(`${path}?${query}`)).body
      expect(meta.tag).toEqual([SUBSETTED])
      return Object.keys(kept).sort()
    }
    const twin = patient(newId(), { multipleBirthInteger: 2, _multipleBirthInteger: { id: 'x' } })
    expect(await shown(twin, '_elements=multipleBirth')).toEqual(['_multipleBirthInteger', 'id', 'multipleBirthInteger', 'resourceType'])
    for (const name of ['multipleBirth[x]', 'Patient.multipleBirth[x]'])
      expect(await shown(twin, `_elements=${encodeURIComponent(name)}`)).toContain('multipleBirthInteger')
    expect(await shown(twin, '_elements=photo,multiple')).toEqual(['id', 'resourceType'])
    const taken = {
      ...{ resourceType: 'MedicationStatement', id: newId(), status: 'stopped', statusReason: [{ text: 'moved' }] },
      ...{ medicationCodeableConcept: { text: 'm' }, subject: { reference: 'Patient/1' }, effectiveDateTime: '2020' },
    }
    const always = ['id', 'medicationCodeableConcept', 'resourceType', 'status', 'subject']
    expect(await shown(taken, '_elements=note')).toEqual(always)
    expect(await shown(taken, '_elements=effective,statusReason')).toEqual([...always, 'effectiveDateTime', 'statusReason'].sort())
  })
  it('are sent with Cache-Control no-store, and the CapabilityStatement with no-cache', async () => {
    const id = newId()
    const answers = [await put(`/Patient/${id}`, patient(id)), await get(`/Patient/${id}`), await get('/Patient'), await get('/nothing')]
    answers.push(await get(`/Patient/${id}`, { 'if-none-match': 'W/"1"' }))
    expect(answers.map(({ status }) => status)).toEqual([201, 200, 200, 404, 304])
    for (const { headers } of answers) expect(headers.get('cache-control')).toBe('no-store')
    expect((await get('/metadata')).headers.get('cache-control')).toBe('no-cache')
  })
  it('keep the mandatory elements of the CapabilityStatement', async () => {
    const { meta, ...kept } = (await get('/metadata?_elements=rest')).body
    expect(meta.tag).toEqual([SUBSETTED])
    expect(Object.keys(kept)).toEqual(expect.arrayContaining(['rest', 'implementation', 'kind', 'fhirVersion', 'format']))
    expect(kept.software).toBeUndefined()
  })

  it('return everything for _summary=false, and 400 for an unknown word', async () => {
    await put(`/Patient/${id}`, resource)
    expect((await get(`/Patient/${id}?_summary=false`)).body.photo).toBeDefined()
    expect((await get(`/Patient/${id}?_summary=some`)).status).toBe(400)
  })
  const STRICTLY = { prefer: 'handling=strict' }
  it.each([
    ['nothing', ''],
    ['code.text', ''],
    ['Patient.nothing', ''],
    ['Observation.code', ''],
    ['valueQuantity', ''],
    ['foo,photo, name.family', 'photo'],
    ['contact,Patient.photo', 'contact,Patient.photo'],
    ['id,resourceType,text,extension', 'id,resourceType,text,extension'],
    ['multipleBirth[x],deceasedBoolean', 'multipleBirth[x],deceasedBoolean'],
  ])('ignore unknown elements and report so: _elements=%s uses "%s"', async (asked, used) => {
    await put(`/Patient/${id}`, resource)
    const query = `_elements=${encodeURIComponent(asked)}`
    for (const [path, resourcesIn] of [
      [`/Patient/${id}?${query}`, (body: Tree) => [body]],
      [`/Patient?_id=${id}&${query}`, (body: Tree) => body.entry.map((entry: Tree) => entry.resource)],
      [`/Patient/${id}/_history?_count=1&${query}`, (body: Tree) => body.entry.map((entry: Tree) => entry.resource)],
    ] as const) {
      const { status, body } = await get(path)
      expect([path, status]).toEqual([path, 200])
      for (const { meta, active } of resourcesIn(body))
        expect([meta.tag, active]).toEqual(used === '' ? [undefined, true] : [[SUBSETTED], undefined])
      if (body.link !== undefined) expect(new URL(body.link[0].url).searchParams.get('_elements')).toBe(used === '' ? null : used)
      const strict = await get(path, STRICTLY)
      expect([path, strict.status]).toEqual([path, used === asked ? 200 : 400])
      if (strict.status === 400)
        expect(strict.body.issue[0].details.text).toMatch(/^_elements names ".+", which is no element at the root of Patient/)
      expect((await get(path, { prefer: 'handling=lenient' })).status).toBe(200)
    }
  })
  it('ignore elements of another type if all resources are of one type', async () => {
    const asked: Readonly<Record<string, (more: Readonly<Record<string, string>>) => ReturnType<typeof get>>> = {
      create: (more) => post('/Patient?_elements=code', { ...resource, id: newId() }, more),
      update: (more) => put(`/Patient/${id}?_elements=code`, resource, more),
      'history-type': (more) => get('/Patient/_history?_count=1&_elements=code', more),
      capabilities: (more) => get('/metadata?_elements=code', more),
    }
    for (const [interaction, ask] of Object.entries(asked)) {
      const { status, body } = await ask({})
      const { meta } = body.entry?.[0].resource ?? body
      expect([interaction, status < 300, meta?.tag]).toEqual([interaction, true, undefined])
      expect([interaction, (await ask(STRICTLY)).status]).toEqual([interaction, 400])
    }
    const { meta } = (await get(`/Patient/${id}`)).body
    await asked.update!(STRICTLY)
    expect((await get(`/Patient/${id}`)).body.meta).toEqual(meta)
  })
  it('select elements of any type if resources of several are returned', async () => {
    const observed = {
      resourceType: 'Observation',
      id: newId(),
      status: 'final',
      code: { text: 'x' },
      subject: { reference: `Patient/${id}` },
    }
    await put(`/Patient/${id}`, resource)
    await put(`/Observation/${observed.id}`, observed)
    const path = `/Observation?_id=${observed.id}&_include=Observation:subject&_elements=photo,nothing`
    const { link, entry } = (await get(path)).body
    expect(new URL(link[0].url).searchParams.get('_elements')).toBe('photo')
    expect(entry.map((each: Tree) => Object.keys(each.resource).sort())).toEqual([
      ['code', 'id', 'meta', 'resourceType', 'status'],
      ['id', 'meta', 'photo', 'resourceType'],
    ])
    const all = await get(`/?_type=Patient,Observation&_id=${id}&_elements=photo,nothing`)
    expect(new URL(all.body.link[0].url).searchParams.get('_elements')).toBe('photo')
    for (const each of [path.replace('nothing', ''), `/?_type=Patient,Observation&_id=${id}&_elements=photo,code`])
      expect((await get(each, STRICTLY)).status).toBe(200)
    expect((await get(`/?_type=Patient&_id=${id}&_elements=code`, STRICTLY)).status).toBe(400)
  })
  it('apply to a search by POST on each page, and report ignored elements', async () => {
    const value = newId()
    const ids = [newId(), newId()]
    for (const each of ids) await put(`/Patient/${each}`, { ...resource, id: each, identifier: [{ system: 'urn:test', value }] })
    const form = (text: string) => post('/Patient/_search', text, { 'content-type': 'application/x-www-form-urlencoded' })
    const first = await form(`identifier=${value}&_count=1&_elements=photo`)
    const second = await get(first.body.link.find(({ relation }: Tree) => relation === 'next').url)
    for (const { body } of [first, second])
      expect(Object.keys(body.entry[0].resource).sort()).toEqual(['id', 'meta', 'photo', 'resourceType'])
    expect((await form(`identifier=${value}&_summary=text`)).body.entry[0].resource.photo).toBeUndefined()
    expect((await form(`identifier=${value}&_summary=some`)).status).toBe(400)
    const ignoring = (await form(`identifier=${value}&_elements=nothing`)).body.entry
    expect(ignoring[0].resource.photo).toBeDefined()
    expect(ignoring.at(-1).resource.issue[0].details.text).toMatch(/ignored: _elements$/)
    const long = `/Patient?identifier=${value}&_count=1&_elements=photo&_id=${[...ids, ...Array.from({ length: 300 }, newId)].join(',')}`
    const next = (await get(long)).body.link.find(({ relation }: Tree) => relation === 'next').url
    expect(next).not.toContain('_elements')
    expect(Object.keys((await get(next)).body.entry[0].resource).sort()).toEqual(['id', 'meta', 'photo', 'resourceType'])
  })
  it('apply to an entry of a batch, as in its url', async () => {
    await put(`/Patient/${id}`, resource)
    const urls = [`Patient/${id}?_elements=photo`, `Patient?_id=${id}&_elements=photo`, `Patient/${id}?_summary=some`, `Patient/${id}`]
    const entries = urls.map((url) => ({ request: { method: 'GET', url } }))
    const { entry } = (await post('/', { resourceType: 'Bundle', type: 'batch', entry: entries })).body
    const keys = (shown: Tree) => Object.keys(shown).sort()
    const part = ['id', 'meta', 'photo', 'resourceType']
    expect([keys(entry[0].resource), keys(entry[1].resource.entry[0].resource)]).toEqual([part, part])
    expect([entry[2].response.status, entry[3].resource.active]).toEqual(['400 Bad Request', true])
  })
  it('apply to search entries', async () => {
    await put(`/Patient/${id}`, resource)
    const { body } = await get(`/Patient?_id=${id}&_elements=photo`)
    expect(Object.keys(body.entry[0].resource).sort()).toEqual(['id', 'meta', 'photo', 'resourceType'])
  })
})

describe('browsers', () => {
  it('receive CORS headers for a preflight', async () => {
    const answer = await send('OPTIONS', '/Patient/1', undefined, {
      origin: 'http://localhost:3000',
      'access-control-request-headers': 'if-match',
    })
    expect([answer.status, answer.headers.get('access-control-allow-origin'), answer.headers.get('access-control-allow-headers')]).toEqual([
      204,
      '*',
      expect.stringContaining('if-match'),
    ])
    expect(answer.headers.get('access-control-allow-methods')).toContain('PATCH')
  })
  it('may read the headers of FHIR, also of errors', async () => {
    // A gateway answers for paths it does not know, without headers of FHIR.
    for (const path of ['/metadata', '/Patient/nobody', ...(isExternalServer ? [] : ['/nothing/at/all/there/x'])]) {
      const { headers } = await get(path, { origin: 'http://localhost:3000' })
      expect(headers.get('access-control-expose-headers')).toContain('ETag')
      expect(headers.get('access-control-expose-headers')).toContain('WWW-Authenticate')
    }
  })
  itOnEmbedded('only an open server on one machine must fear them')(
    'are rejected from foreign origins while the server is open',
    async () => {
      expect((await get('/metadata', { origin: 'http://evil.example' })).status).toBe(403)
      expect((await get('/metadata', { origin: 'http://localhost.evil.example' })).status).toBe(403)
    },
  )
})

describe('X-Ignored-Parameters', () => {
  it('names the parameters that a search ignores, percent-encoded and without values', async () => {
    const { status, headers } = await get(`/Patient?nmae=secret&subject:Patient.x=1&${encodeURIComponent('a, é😀')}=2&nmae=3`)
    expect([status, headers.get('x-ignored-parameters')]).toEqual([200, 'nmae, subject:Patient.x, a%2C%20%C3%A9%F0%9F%98%80'])
  })

  it('names a parameter with characters beyond the basic plane', async () => {
    const { status, headers } = await get(`/Patient?${encodeURIComponent('a😀')}=1&${encodeURIComponent(`${'b'.repeat(99)}😀`)}=2`)
    expect([status, headers.get('x-ignored-parameters')]).toEqual([200, `a%F0%9F%98%80, ${'b'.repeat(99)}%EF%BF%BD`])
  })

  it('names as many as a gateway lets through', async () => {
    const query = Array.from({ length: 20 }, (_, i) => `${'é'.repeat(50)}${i}=1`).join('&')
    const { status, headers } = await get(`/Patient?${query}`)
    expect([status, headers.get('x-ignored-parameters')!.split(', ').length]).toEqual([200, 6])
  })

  it('is not sent if the search uses all of them', async () =>
    expect((await get('/Patient?name=a&_count=1&_format=json')).headers.get('x-ignored-parameters')).toBeNull())

  it('is replaced by 400 with similar names for strict handling', async () => {
    const { status, body } = await get('/Patient?brithdate=2020', { prefer: 'handling=strict' })
    expect([status, body.issue[0].details.text]).toEqual([400, 'Unknown search parameter brithdate of Patient. Did you mean birthdate?'])
  })
})

describe('X-Request-Id', () => {
  it('is returned if valid, or else generated', async () => {
    expect((await get('/metadata', { 'x-request-id': 'abc-1' })).headers.get('x-request-id')).toBe('abc-1')
    expect((await get('/nothing')).headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
    expect((await get('/metadata', { 'x-request-id': 'a b<script>' })).headers.get('x-request-id')).not.toContain('script')
  })
})

describe('bodies', () => {
  const id = newId()
  const bad: readonly (readonly [string, string | Uint8Array, number, string])[] = [
    ['nothing', '', 400, 'required'],
    ['no JSON', '{"resourceType":"Patient"', 400, 'structure'],
    ['no object', '[]', 400, 'structure'],
    ['no resource', '{"a":1}', 400, 'structure'],
    ['an unknown type', '{"resourceType":"Kangaroo","id":"x"}', 400, 'invalid'],
    ['a duplicate key', `{"resourceType":"Patient","id":"${id}","active":true,"active":false}`, 400, 'structure'],
    ['__proto__', `{"resourceType":"Patient","id":"${id}","__proto__":{"a":1}}`, 400, 'structure'],
    ['constructor', `{"resourceType":"Patient","id":"${id}","constructor":{"prototype":1}}`, 400, 'structure'],
    ['U+0000', `{"resourceType":"Patient","id":"${id}","name":[{"family":"a\\u0000"}]}`, 400, 'value'],
    ['a control character', `{"resourceType":"Patient","id":"${id}","name":[{"family":"a\\u0007"}]}`, 400, 'value'],
    ['a raw control character', `{"resourceType":"Patient","id":"${id}","name":[{"family":"a\u0007"}]}`, 400, 'structure'],
    [
      'deep nesting',
      `{"resourceType":"Patient","id":"${id}","extension":${'[{"extension":'.repeat(200)}[]${'}]'.repeat(200)}}`,
      400,
      'structure',
    ],
    ['too long', `{"resourceType":"Patient","id":"${id}","name":[{"family":"${'x'.repeat(100000)}"}]}`, 413, 'too-long'],
  ]
  it.each(bad)('are rejected: %s', async (_, body, status, code) => {
    const answer = await post('/Patient', body)
    expect([answer.status, answer.body.issue[0].severity, answer.body.issue[0].code]).toEqual([status, 'error', code])
    expect(answer.body.issue[0].details.text).toEqual(expect.any(String))
    expect((await get(`/Patient/${id}`)).status).toBe(404)
  })
  it('are rejected: invalid UTF-8, as text that API Gateway changed where it stands before the server', async () => {
    const body = Buffer.concat([
      Buffer.from(`{"resourceType":"Patient","id":"${id}","name":[{"family":"`),
      Buffer.of(0xff),
      Buffer.from('"}]}'),
    ])
    expect(isExternalServer ? [400, 415] : [400]).toContain((await post('/Patient', body)).status)
    expect((await get(`/Patient/${id}`)).status).toBe(404)
  })
  it('are rejected with the location of every issue', async () => {
    const answer = await put(`/Patient/${id}`, {
      resourceType: 'Patient',
      id,
      gender: 'x',
      birthDate: '2020-13-01',
      name: { family: 'a' },
      contact: [{ nope: 1 }],
    })
    expect(answer.status).toBe(400)
    expect([...issuesOf(answer)].sort()).toEqual(
      expect.arrayContaining([
        'error code-invalid Patient.gender',
        'error structure Patient.contact[0].nope',
        'error structure Patient.name',
        'error value Patient.birthDate',
      ]),
    )
  })
  it('keep every digit of a decimal', async () => {
    for (const value of ['1.10', '0.000', '1e3', '123456789012345678901234567890.123', '1E-10']) {
      const text = `{"resourceType":"Observation","id":"${id}","status":"final","code":{"text":"x"},"valueQuantity":{"value":${value}}}`
      expect((await put(`/Observation/${id}`, text)).status).toBeLessThan(300)
      for (const path of [
        `/Observation/${id}`,
        `/Observation/${id}?_pretty=true`,
        `/Observation/${id}?_elements=valueQuantity`,
        `/Observation?_id=${id}&_elements=value`,
      ])
        expect((await get(path)).text).toMatch(new RegExp(`"value": ?${value.replace(/[.+]/g, '\\$&')}[},\\s]`))
    }
  })
})

it('the CapabilityStatement claims the supported parameters and includes, and no others', async () => {
  const { body } = await get('/metadata')
  const answer = await get('/metadata')
  expect([answer.status, body.fhirVersion, body.rest[0].resource.length]).toEqual([200, '4.0.1', 146])
  const named = body.rest[0].resource.find(({ type }: { type: string }) => type === 'Patient')
  expect(named.searchParam.map(({ name }: { name: string }) => name)).toEqual(
    expect.arrayContaining(['_id', 'family', 'birthdate', 'general-practitioner']),
  )
  for (const { name, type } of named.searchParam) {
    const value = type === 'date' ? '2020' : type === 'number' ? '1' : 'x'
    expect([name, (await get(`/Patient?${name}=${value}`, { prefer: 'handling=strict' })).status]).toEqual([name, 200])
  }
  expect(named.searchParam.map(({ name }: { name: string }) => name)).not.toContain('phonetic')
  expect((await get('/Patient?phonetic=x', { prefer: 'handling=strict' })).status).toBe(400)
  for (const { name } of body.rest[0].searchParam.filter(({ definition }: Tree) => definition !== undefined))
    expect([name, (await get(`/?${name}=2020`, { prefer: 'handling=strict' })).status]).toEqual([name, 200])
  expect(named.searchInclude).toEqual(expect.arrayContaining(['*', 'Patient:organization']))
  expect(named.searchRevInclude).toEqual(expect.arrayContaining(['*', 'Observation:patient']))
  expect(named.searchRevInclude).not.toContain('Observation:encounter')
  expect(base()).toContain('/fhir')
})

it('the CapabilityStatement claims exports as their guide names them', async () => {
  const { instantiates, implementationGuide, rest } = (await get('/metadata')).body
  const guide = 'http://hl7.org/fhir/uv/bulkdata'
  expect(instantiates).toContain(`${guide}/CapabilityStatement/bulk-data`)
  expect(implementationGuide).toContain(`${guide}/ImplementationGuide/hl7.fhir.uv.bulkdata`)
  const named = (name: string, of: string) => ({ name, definition: `${guide}/OperationDefinition/${of}` })
  const operation = (of: string) => [named('export', of), named(of, of)]
  const ofGuide = (operation: readonly { readonly definition: string }[] = []) =>
    operation.filter(({ definition }) => definition.startsWith(guide))
  expect(ofGuide(rest[0].operation)).toEqual([named('export', 'export')])
  const others = rest[0].resource.flatMap(({ type, operation }: { type: string; operation?: { definition: string }[] }) =>
    ofGuide(operation).length === 0 ? [] : [[type, ofGuide(operation)]],
  )
  expect(others).toEqual([
    ['Group', operation('group-export')],
    ['Patient', operation('patient-export')],
  ])
})

it('the CapabilityStatement claims the operations of FHIR by canonical URL on every type', async () => {
  const [{ operation, resource }] = (await get('/metadata')).body.rest
  const ofFhir = (all: readonly Tree[]) =>
    all.flatMap(({ definition }) => /hl7.org\/fhir\/OperationDefinition\/(.*)/.exec(definition)?.[1] ?? [])
  expect(ofFhir(operation)).toEqual(['Resource-meta'])
  const ofType = (type: string) => [...(type === 'Patient' ? ['Patient-everything'] : []), 'Resource-meta', 'Resource-validate']
  for (const { type, operation } of resource) expect([type, ofFhir(operation)]).toEqual([type, ofType(type)])
})
