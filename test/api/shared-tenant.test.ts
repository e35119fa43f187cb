/** Definitions of the shared tenant, as another tenant reads, finds and uses them. @cloud:here */
import { describe, expect, it } from '@jest/globals'
import { issuesOf, itOnEmbedded, newId, type TestResponse, type Tree, withServer } from './server.ts'

const client = withServer({ FHIR_TENANCY: 'on', FHIR_SHARED_TENANT: 'commons', FHIR_CLIENT_IDS: 'optional' })

const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

type Headers = Readonly<Record<string, string>>

/** The client in one tenant. Its writes wait for the index, because other tenants search for them. */
const inTenant = (tenant: string) => {
  const headers = { 'x-tenant-id': tenant }
  const send = (method: string, path: string, body?: unknown, more: Headers = {}): Promise<TestResponse> =>
    client.send(method, path, body, { ...headers, ...(method === 'GET' ? {} : { 'x-consistency': 'strong' }), ...more })
  return {
    get: (path: string, more?: Headers) => send('GET', path, undefined, more),
    async put(resource: Tree): Promise<void> {
      const { status, text } = await send('PUT', `/${resource.resourceType}/${resource.id}`, resource)
      if (status >= 300) throw new Error(text)
    },
    post: (path: string, body: unknown, more?: Headers) => send('POST', path, body, more),
    delete: (path: string) => send('DELETE', path),
  }
}

const commons = inTenant('commons')
const north = inTenant('north')

const valueSet = (id: string, more: Tree = {}): Tree => ({ resourceType: 'ValueSet', id, url: `urn:${id}`, status: 'active', ...more })

describe('A read of a definition', () => {
  it('shows the shared one unless the tenant has its own', async () => {
    const id = newId()
    const title = async (): Promise<Tree> => {
      const { status, body } = await north.get(`/ValueSet/${id}`)
      return [status, body.title]
    }
    expect(await title()).toEqual([404, undefined])
    await commons.put(valueSet(id, { title: 'shared' }))
    expect(await title()).toEqual([200, 'shared'])
    await north.put(valueSet(id, { title: 'own' }))
    expect(await title()).toEqual([200, 'own'])
    expect((await commons.get(`/ValueSet/${id}`)).body).toMatchObject({ title: 'shared', meta: { versionId: '1' } })
    await north.delete(`/ValueSet/${id}`)
    expect(await title()).toEqual([200, 'shared'])
    await commons.delete(`/ValueSet/${id}`)
    expect(await title()).toEqual([404, undefined])
  })

  it('answers 304 for the version that the client has', async () => {
    const id = newId()
    await commons.put(valueSet(id))
    const { headers } = await north.get(`/ValueSet/${id}`)
    expect((await north.get(`/ValueSet/${id}`, { 'if-none-match': headers.get('etag')! })).status).toBe(304)
    await commons.put(valueSet(id, { title: 'second' }))
    expect((await north.get(`/ValueSet/${id}`, { 'if-none-match': headers.get('etag')! })).status).toBe(200)
  })

  it('is never 304 while the client may have the definition of the other tenant', async () => {
    const id = newId()
    const later = { 'if-modified-since': 'Fri, 01 Jan 2100 00:00:00 GMT' }
    const answers = async (): Promise<readonly number[]> => {
      const asked = [{ 'if-none-match': 'W/"1"' }, { 'if-none-match': '*' }, later].map((header) => north.get(`/ValueSet/${id}`, header))
      return (await Promise.all(asked)).map(({ status }) => status)
    }
    await commons.put(valueSet(id))
    expect(await answers()).toEqual([304, 304, 304])
    await north.put(valueSet(id, { title: 'own' }))
    expect(await answers()).toEqual([200, 200, 200])
    await north.delete(`/ValueSet/${id}`)
    expect(await answers()).toEqual([200, 200, 200])
    expect((await commons.get(`/ValueSet/${id}`, { 'if-none-match': 'W/"1"' })).status).toBe(304)
  })

  it('works in a Bundle', async () => {
    const id = newId()
    await commons.put(valueSet(id, { title: 'shared' }))
    for (const type of ['batch', 'transaction']) {
      const entry = [{ request: { method: 'GET', url: `ValueSet/${id}` } }]
      const { body } = await north.post('/', { resourceType: 'Bundle', type, entry })
      expect(body.entry[0].resource.title).toBe('shared')
    }
  })

  const ABOUT = { url: 'urn:x', name: 'X', status: 'active', kind: 'resource' }
  it.each([
    {
      resourceType: 'StructureDefinition',
      ...ABOUT,
      abstract: true,
      type: 'Patient',
      differential: { element: [{ id: 'Patient', path: 'Patient' }] },
    },
    { resourceType: 'CodeSystem', status: 'active', content: 'not-present' },
    { resourceType: 'ConceptMap', status: 'active' },
    {
      resourceType: 'CapabilityStatement',
      status: 'active',
      kind: 'requirements',
      description: 'x',
      date: '2020',
      fhirVersion: '4.0.1',
      format: ['json'],
      rest: [{ mode: 'server' }],
    },
    { resourceType: 'ImplementationGuide', ...ABOUT, kind: undefined, packageId: 'x', fhirVersion: ['4.0.1'] },
  ])('shows a shared $resourceType', async (resource) => {
    const id = newId()
    await commons.put({ ...resource, id })
    expect((await north.get(`/${resource.resourceType}/${id}`)).body.id).toBe(id)
  })
})

const PATIENT = 'http://hl7.org/fhir/StructureDefinition/Patient'

/** Profile of Patient with a required element. */
const profile = (url: string, required: string, more: Tree = {}): Tree => ({
  resourceType: 'StructureDefinition', id: newId(), url, name: 'Shared', status: 'active', kind: 'resource', abstract: false,
  type: 'Patient', baseDefinition: PATIENT, derivation: 'constraint',
  differential: { element: [{ id: `Patient.${required}`, path: `Patient.${required}`, min: 1 }] }, ...more,
}) // biome-ignore format: one resource

const NARRATIVE = { status: 'generated', div: '<div xmlns="http://www.w3.org/1999/xhtml">x</div>' }

/** Names of the elements that the profile requires and the resource lacks, or the codes of other issues. */
async function missing(url: string, tenant = north): Promise<readonly string[]> {
  const answer = await tenant.post(`/Patient/$validate?profile=${encodeURIComponent(url)}`, { resourceType: 'Patient', text: NARRATIVE })
  const required = (answer.body.issue as readonly Tree[]).flatMap(
    ({ diagnostics, details }) => /(\w+) is required/.exec(diagnostics ?? details?.text)?.[1] ?? [],
  )
  return required.length > 0 ? required : issuesOf(answer)
}

describe('Validation', () => {
  const UNKNOWN = ['error not-found']

  it('uses a shared profile, after the one of the tenant', async () => {
    const url = `urn:${newId()}`
    expect(await missing(url)).toEqual(UNKNOWN)
    const shared = profile(url, 'birthDate')
    await commons.put(shared)
    expect(await missing(url)).toEqual(['birthDate'])
    const own = profile(url, 'gender')
    await north.put(own)
    expect([await missing(url), await missing(url, inTenant('south')), await missing(url, commons)]).toEqual([
      ['gender'],
      ['birthDate'],
      ['birthDate'],
    ])
    await north.put({ ...own, status: 'retired' })
    expect(await missing(url)).toEqual(['birthDate'])
    await north.delete(`/StructureDefinition/${own.id}`)
    await commons.put(profile(url, 'photo', { id: shared.id }))
    expect(await missing(url)).toEqual(['photo'])
    await commons.delete(`/StructureDefinition/${shared.id}`)
    expect(await missing(url)).toEqual(UNKNOWN)
  })

  it('uses the shared version that the tenant does not have', async () => {
    const url = `urn:${newId()}`
    await commons.put(profile(url, 'birthDate', { version: '2' }))
    await north.put(profile(url, 'gender', { version: '1' }))
    expect([await missing(`${url}|2`), await missing(`${url}|1`), await missing(url)]).toEqual([['birthDate'], ['gender'], ['gender']])
  })

  it('resolves a shared base and shared codes', async () => {
    const [base, url, codes] = [`urn:${newId()}`, `urn:${newId()}`, `urn:${newId()}`]
    await commons.put(profile(base, 'birthDate'))
    await north.put(profile(url, 'gender', { baseDefinition: base }))
    expect((await missing(url)).toSorted()).toEqual(['birthDate', 'gender'])
    const system = {
      resourceType: 'CodeSystem',
      id: newId(),
      url: codes,
      status: 'active',
      content: 'complete',
      concept: [{ code: 'a' }, { code: 'b' }],
    }
    await commons.put(system)
    await commons.put(
      valueSet(newId(), {
        url: `${codes}-set`,
        compose: { include: [{ system: codes, filter: [{ property: 'concept', op: 'is-a', value: 'a' }] }] },
      }),
    )
    const bound = profile(`${url}-bound`, 'maritalStatus')
    bound.differential.element[0].binding = { strength: 'required', valueSet: `${codes}-set` }
    await north.put(bound)
    const errorsWith = async (code: string): Promise<readonly string[]> => {
      const resource = { resourceType: 'Patient', text: NARRATIVE, maritalStatus: { coding: [{ system: codes, code }] } }
      const answer = await north.post(`/Patient/$validate?profile=${encodeURIComponent(bound.url)}`, resource)
      return issuesOf(answer).filter((issue) => issue.startsWith('error'))
    }

    expect(await errorsWith('a')).toEqual([])
    expect(await errorsWith('b')).toEqual([expect.stringMatching(/^error code-invalid Patient\.maritalStatus/)])
  })
})

itOnEmbedded('AWS lists no profiles of tenants')('The CapabilityStatement lists shared profiles', async () => {
  const url = `urn:${newId()}`
  await commons.put(profile(url, 'birthDate'))
  const { body } = await north.get('/metadata')
  expect(body.rest[0].resource.find(({ type }: Tree) => type === 'Patient').supportedProfile).toContain(url)
})

describe('A search for definitions', () => {
  const titles = async (path: string, tenant = north): Promise<readonly string[]> =>
    ((await tenant.get(path)).body.entry ?? []).map(({ resource }: Tree) => resource.title)

  it('finds shared definitions and definitions of the tenant, which replace shared ones', async () => {
    const name = newId()
    const of = (i: number, title: string): Tree => valueSet(`${name}-${i}`, { name, title })
    for (const i of [1, 2, 4]) await commons.put(of(i, `shared ${i}`))
    for (const i of [2, 3]) await north.put(of(i, `own ${i}`))
    const all = ['shared 1', 'own 2', 'own 3', 'shared 4']
    expect(await titles(`/ValueSet?name=${name}`)).toEqual(all)
    expect(await titles(`/ValueSet?name=${name}&_sort=-title`)).toEqual(['shared 4', 'shared 1', 'own 3', 'own 2'])
    expect(await titles(`/ValueSet?name=${name}&title=shared%202`)).toEqual([])
    expect(await titles(`/ValueSet?name=${name}&_count=2&_skip=1`)).toEqual(['own 2', 'own 3'])
    expect(await titles(`/ValueSet?name=${name}`, inTenant('south'))).toEqual(['shared 1', 'shared 2', 'shared 4'])
    expect(await titles(`/ValueSet?name=${name}`, commons)).toEqual(['shared 1', 'shared 2', 'shared 4'])
    expect((await north.get(`/ValueSet?name=${name}&_summary=count`)).body.total).toBe(4)
    const found = await north.post('/ValueSet/_search', `name=${name}&_total=accurate&_count=1`, FORM)
    expect([found.body.total, found.body.entry.length]).toEqual([4, 1])
    const paged: string[] = []
    for (let path: string | undefined = `/ValueSet?name=${name}&_count=1`; path !== undefined; ) {
      const { body }: TestResponse = await north.get(path)
      paged.push(...body.entry.map(({ resource }: Tree) => resource.title))
      path = body.link
        .find(({ relation }: Tree) => relation === 'next')
        ?.url.replace(client.base(), '')
        .replace(/^http:\/\/127\.0\.0\.1\/fhir/, '')
    }
    expect(paged).toEqual(all)
    const grouped = await north.get(`/ValueSet?name=${name}&_group=status`)
    expect(grouped.body.entry[0].search.extension[0].extension).toContainEqual({ url: 'size', valueInteger: 4 })
  })

  it('works in a Bundle, and on several types', async () => {
    const name = newId()
    await commons.put(valueSet(name, { name, title: 'shared' }))
    await north.put({ resourceType: 'ConceptMap', id: name, name, title: 'own', status: 'active' })
    const entry = [{ request: { method: 'GET', url: `ValueSet?name=${name}` } }]
    const { body } = await north.post('/', { resourceType: 'Bundle', type: 'batch', entry })
    expect(body.entry[0].resource.entry.map(({ resource }: Tree) => resource.title)).toEqual(['shared'])
    expect(await titles(`/?_type=ValueSet,ConceptMap,Patient&_id=${name}`)).toEqual(['own', 'shared'])
  })

  it('includes shared definitions by canonical URL and by reference', async () => {
    const name = newId()
    await commons.put(valueSet(`${name}-1`, { url: `urn:${name}`, version: '2', title: 'shared' }))
    await north.put(valueSet(`${name}-2`, { url: `urn:${name}`, version: '1', title: 'own' }))
    const map = (id: string, target: string): Tree => ({
      resourceType: 'ConceptMap',
      id,
      title: id,
      status: 'active',
      targetCanonical: target,
    })
    await north.put(map(`${name}-a`, `urn:${name}`))
    await north.put(map(`${name}-b`, `urn:${name}|2`))
    const withTarget = (id: string) => titles(`/ConceptMap?_id=${name}-${id}&_include=ConceptMap:target`)
    expect([await withTarget('a'), await withTarget('b')]).toEqual([
      [`${name}-a`, 'own'],
      [`${name}-b`, 'shared'],
    ])
    expect(await titles(`/ValueSet?_id=${name}-1&_revinclude=ConceptMap:target`)).toEqual(['shared', `${name}-a`, `${name}-b`])
    expect(await titles(`/ConceptMap?target:ValueSet.version=2&target:ValueSet.url=urn:${name}`)).toEqual([`${name}-a`, `${name}-b`])
    const item = [{ item: { reference: `ValueSet/${name}-1` } }]
    await north.put({ resourceType: 'List', id: name, title: 'list', status: 'current', mode: 'working', entry: item })
    expect(await titles(`/List?_id=${name}&_include=List:item`)).toEqual(['list', 'shared'])
  })

  it('sees a write to the shared tenant by its index token', async () => {
    const name = newId()
    const { headers } = await client.put(`/ValueSet/${name}`, valueSet(name, { name, title: 'shared' }), { 'x-tenant-id': 'commons' })
    const { body } = await north.get(`/ValueSet?name=${name}`, { 'x-index-token': headers.get('x-index-token')! })
    expect(body.total).toBe(1)
    expect((await commons.get('/ValueSet', { 'x-index-token': 'x' })).status).toBe(400)
  })

  it('explains both lookups', async () => {
    const name = newId()
    await commons.put(valueSet(name, { name }))
    const { text } = await north.get(`/ValueSet?name=${name}`, { prefer: 'explain' })
    expect(text).toContain('The plan')
  })
})

it('A write to a tenant never changes a shared definition', async () => {
  const id = newId()
  await commons.put(valueSet(id, { title: 'shared' }))
  const path = `/ValueSet/${id}`
  const patch = [{ op: 'replace', path: '/title', value: 'other' }]
  const patched = await client.patch(path, patch, { 'x-tenant-id': 'north' })
  const updated = await client.put(path, valueSet(id), { 'x-tenant-id': 'north', 'if-match': 'W/"1"' })
  const created = await client.post('/ValueSet', valueSet(newId()), { 'x-tenant-id': 'north', 'if-none-exist': `url=urn:${id}` })
  expect([patched.status, updated.status, created.status]).toEqual([404, 412, 201])
  const note = 'in this tenant. Its writes never change shared definitions'
  expect([patched, updated].map(({ body }) => body.issue[0].details.text)).toEqual([
    `There is no resource ValueSet/${id} ${note}`,
    `If-Match names version 1, but the resource does not exist ${note}`,
  ])
  expect([(await north.delete(path)).status, (await north.get(path)).body.title]).toEqual([204, 'shared'])
  expect((await commons.get(`${path}/_history`)).body.total).toBe(1)
})

describe('Versions of a shared definition', () => {
  const ofOne = async (id: string): Promise<Tree> => {
    const answers = await Promise.all([1, 2].map((version) => north.get(`/ValueSet/${id}/_history/${version}`)))
    const { body, status } = await north.get(`/ValueSet/${id}/_history`)
    const titles = status === 200 && body.entry.map(({ resource }: Tree) => resource?.title)
    return { versions: answers.map((answer) => answer.body.title ?? answer.status), history: titles }
  }

  it('are shown unless the tenant has or had its own', async () => {
    const id = newId()
    expect(await ofOne(id)).toEqual({ versions: [404, 404], history: false })
    await commons.put(valueSet(id, { title: 'first' }))
    await commons.put(valueSet(id, { title: 'second' }))
    expect(await ofOne(id)).toEqual({ versions: ['first', 'second'], history: ['second', 'first'] })
    expect((await north.get(`/ValueSet/${id}/_history?_summary=count`)).body.total).toBe(2)
    await north.put(valueSet(id, { title: 'own' }))
    expect(await ofOne(id)).toEqual({ versions: ['own', 404], history: ['own'] })
    await north.delete(`/ValueSet/${id}`)
    expect(await ofOne(id)).toEqual({ versions: ['own', 410], history: [undefined, 'own'] })
  })

  it('are 304 for a client that has them, unless the tenant has its own', async () => {
    const id = newId()
    await commons.put(valueSet(id))
    const answer = async (): Promise<number> => (await north.get(`/ValueSet/${id}/_history/1`, { 'if-none-match': 'W/"1"' })).status
    expect(await answer()).toBe(304)
    await north.put(valueSet(id))
    expect(await answer()).toBe(200)
  })

  it('are in no history of a type or of all types of another tenant', async () => {
    const id = newId()
    await commons.put(valueSet(id))
    for (const path of ['/ValueSet/_history', '/_history']) expect((await north.get(path)).text).not.toContain(id)
  })
})

describe('An operation on a shared definition', () => {
  it('returns $meta of the definition that a read shows', async () => {
    const id = newId()
    const tag = (code: string): Tree => ({ meta: { tag: [{ code }] } })
    const shown = async (): Promise<unknown> => (await north.get(`/ValueSet/${id}/$meta`)).body.parameter?.[0].valueMeta.tag[0].code
    expect(await shown()).toBeUndefined()
    await commons.put(valueSet(id, tag('shared')))
    expect(await shown()).toBe('shared')
    await north.put(valueSet(id, tag('own')))
    expect(await shown()).toBe('own')
  })

  it('validates the definition that a read shows', async () => {
    const id = newId()
    const path = `/ValueSet/${id}/$validate`
    const found = async (): Promise<readonly Tree[]> => {
      const answers = [north.get(path), north.post(path, undefined), north.post(`${path}?mode=update`, undefined)]
      return (await Promise.all(answers)).map(({ status, text }) => [status, text.includes('(dom-6,')])
    }
    const each = (status: number, lacksNarrative: boolean) => Array(3).fill([status, lacksNarrative])
    expect(await found()).toEqual(each(404, false))
    await commons.put(valueSet(id))
    expect(await found()).toEqual(each(200, true))
    await north.put(valueSet(id, { text: NARRATIVE }))
    expect(await found()).toEqual(each(200, false))
  })
})

it.each([
  { resourceType: 'Basic', code: { text: 'x' } },
  { resourceType: 'Patient' },
  { resourceType: 'Questionnaire', status: 'active' },
  { resourceType: 'NamingSystem', name: 'X', status: 'active', kind: 'root', date: '2020', uniqueId: [{ type: 'uri', value: 'urn:x' }] },
  {
    resourceType: 'SearchParameter',
    url: 'urn:x',
    name: 'X',
    status: 'active',
    description: 'x',
    code: 'x',
    base: ['Patient'],
    type: 'string',
    expression: 'Patient.name.family',
  },
])('A $resourceType of the shared tenant is not shared', async (resource) => {
  const id = newId()
  await commons.put({ ...resource, id })
  const path = `/${resource.resourceType}/${id}`
  const statusIn = async (tenant: typeof north) =>
    Promise.all(['', '/_history/1', '/_history', '/$meta', '/$validate'].map(async (end) => (await tenant.get(`${path}${end}`)).status))
  expect([await statusIn(commons), await statusIn(north)]).toEqual([Array(5).fill(200), Array(5).fill(404)])
})
