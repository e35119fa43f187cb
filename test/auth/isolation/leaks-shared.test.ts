/** The shared tenant: other tenants see its definitions and nothing else, by reads only. Only administrators of it write them. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { openSite, operatorOf, type RequestContent, type Site } from '../site.ts'
import type { Caller, Json } from './oracle.ts'

const COMMONS = operatorOf('commons')
const NORTH = operatorOf('north')
/** Client of a tenant with references to resources of the shared tenant. */
const READER = operatorOf('south')

/** Text in each resource of the shared tenant. */
const MARK = 'commons-only'
const ABOUT = { url: 'urn:x', name: 'X', status: 'active', description: MARK }

const definitions: readonly Json[] = [
  { resourceType: 'StructureDefinition', ...ABOUT, kind: 'resource', abstract: true, type: 'Patient', differential: { element: [{ id: 'Patient', path: 'Patient' }] } },
  { resourceType: 'ValueSet', ...ABOUT },
  { resourceType: 'CodeSystem', ...ABOUT, content: 'not-present' },
  { resourceType: 'ConceptMap', ...ABOUT },
  { resourceType: 'CapabilityStatement', ...ABOUT, kind: 'requirements', date: '2020', fhirVersion: '4.0.1', format: ['json'], rest: [{ mode: 'server' }] },
  { resourceType: 'ImplementationGuide', ...ABOUT, packageId: 'x', fhirVersion: ['4.0.1'] },
].map((resource) => ({ ...resource, id: 'x' })) // biome-ignore format: a table

const others: readonly Json[] = [
  { resourceType: 'SearchParameter', ...ABOUT, code: 'x', base: ['Patient'], type: 'string', expression: 'Patient.name.family' },
  { resourceType: 'OperationDefinition', ...ABOUT, kind: 'query', code: 'x', system: true, type: false, instance: false },
  { resourceType: 'NamingSystem', name: 'X', status: 'active', kind: 'root', date: '2020', uniqueId: [{ type: 'uri', value: MARK }] },
  { resourceType: 'Questionnaire', ...ABOUT },
  { resourceType: 'Basic', code: { text: MARK } },
  { resourceType: 'Patient', name: [{ family: MARK }] },
  { resourceType: 'Observation', status: 'final', code: { text: MARK }, subject: { reference: 'Patient/x' } },
  { resourceType: 'Binary', contentType: 'text/plain', data: Buffer.from(MARK).toString('base64') },
].map((resource) => ({ ...resource, id: 'x' })) // biome-ignore format: a table

const SETTINGS = { FHIR_SHARED_TENANT: 'commons', FHIR_CLIENT_IDS: 'optional' }

async function openShared(): Promise<Site> {
  const site = await openSite({ settings: SETTINGS })
  for (const body of [...definitions, ...others])
    expect((await site.ask(COMMONS, 'PUT', `/${body.resourceType}/x`, { body })).status).toBe(201)
  return site
}

type Write = (resource: Json) => readonly [method: string, target: string, sent?: RequestContent]

const entry = (method: string, url: string, resource?: Json): Json => ({ request: { method, url }, ...(resource && { resource }) })
const bundle = (type: string, ...entries: readonly Json[]): RequestContent => ({ body: { resourceType: 'Bundle', type, entry: entries } })
const PATCH = {
  body: Buffer.from('[{"op":"add","path":"/language","value":"de"}]'),
  headers: { 'content-type': 'application/json-patch+json' },
}

const WRITES: Readonly<Record<string, Write>> = {
  create: ({ id: _, ...body }) => ['POST', `/${body.resourceType}`, { body }],
  'conditional create': ({ id: _, ...body }) => ['POST', `/${body.resourceType}`, { body, headers: { 'if-none-exist': '_id=x' } }],
  update: (body) => ['PUT', `/${body.resourceType}/x`, { body }],
  'conditional update': (body) => ['PUT', `/${body.resourceType}?_id=x`, { body }],
  patch: ({ resourceType }) => ['PATCH', `/${resourceType}/x`, PATCH],
  'conditional patch': ({ resourceType }) => ['PATCH', `/${resourceType}?_id=x`, PATCH],
  delete: ({ resourceType }) => ['DELETE', `/${resourceType}/x`],
  'conditional delete': ({ resourceType }) => ['DELETE', `/${resourceType}?_id=x`],
  batch: (body) => ['POST', '', bundle('batch', entry('PUT', `${body.resourceType}/x`, body))],
  transaction: (body) => ['POST', '', bundle('transaction', entry('DELETE', `${body.resourceType}/x`))],
}

describe('A resource of the shared tenant', () => {
  let site: Site
  beforeAll(async () => {
    site = await openShared()
    const types = [...definitions, ...others].map(({ resourceType }) => resourceType)
    const item = types.map((type) => ({ item: { reference: `${type}/x` } }))
    const list = { resourceType: 'List', id: 'l', status: 'current', mode: 'working', entry: item }
    const relatedArtifact = [{ type: 'depends-on', resource: 'urn:x' }]
    for (const body of [list, { resourceType: 'ActivityDefinition', id: 'a', status: 'draft', relatedArtifact }])
      expect((await site.ask(READER, 'PUT', `/${body.resourceType}/${body.id}`, { body })).status).toBe(201)
  })
  afterAll(() => site.close())

  /** Requests of another tenant about a resource, by name. */
  const ABOUT_ONE: Readonly<Record<string, (type: string) => readonly [method: string, target: string, sent?: RequestContent]>> = {
    read: (type) => ['GET', `/${type}/x`],
    vread: (type) => ['GET', `/${type}/x/_history/1`],
    'history of the resource': (type) => ['GET', `/${type}/x/_history`],
    'history of the type': (type) => ['GET', `/${type}/_history`],
    'history of all types': () => ['GET', '/_history'],
    'search of the type': (type) => ['GET', `/${type}`],
    'search by id': (type) => ['GET', `/${type}?_id=x`],
    'search by POST': (type) => ['POST', `/${type}/_search`, { body: '_id=x' }],
    'search of several types': (type) => ['GET', `/?_type=${type},Account&_id=x`],
    'search in a compartment': (type) => ['GET', `/Patient/x/${type}`],
    'include in a search': (type) => ['GET', `/List?_include=List:item:${type}`],
    'canonical include in a search': (type) => ['GET', `/ActivityDefinition?_include=ActivityDefinition:depends-on:${type}`],
    'read in a batch': (type) => ['POST', '', bundle('batch', entry('GET', `${type}/x`))],
    'search in a batch': (type) => ['POST', '', bundle('batch', entry('GET', `${type}?_id=x`))],
    'version in a batch': (type) => ['POST', '', bundle('batch', entry('GET', `${type}/x/_history/1`))],
    $meta: (type) => ['GET', `/${type}/x/$meta`],
    $validate: (type) => ['POST', `/${type}/x/$validate?mode=delete`],
    $everything: () => ['GET', '/Patient/x/$everything'],
    'conditional read': (type) => ['GET', `/${type}/x`, { headers: { 'if-none-match': 'W/"7"' } }],
    patch: (type) => ['PATCH', `/${type}/x`, PATCH],
    'conditional create': (type) => ['POST', `/${type}`, { body: { resourceType: type }, headers: { 'if-none-exist': '_id=x' } }],
  }
  /** Requests that show a shared definition. */
  const SHOWING = [
    'read',
    'vread',
    'history of the resource',
    'conditional read',
    'read in a batch',
    'version in a batch',
    'search of the type',
    'search by id',
    'search by POST',
    'search of several types',
    'search in a batch',
    'include in a search',
    'canonical include in a search',
  ]

  it.each(Object.entries(ABOUT_ONE))('is shown to another tenant by a %s only if it is a definition', async (name, request) => {
    const wrong: string[] = []
    for (const { resourceType: type } of [...definitions, ...others]) {
      const isShown = (await site.ask(READER, ...request(type))).text.includes(MARK)
      const isExpected = SHOWING.includes(name) && definitions.some(({ resourceType }) => resourceType === type)
      if (isShown !== isExpected) wrong.push(`${type} is ${isShown ? 'shown' : 'hidden'}`)
    }
    expect(wrong).toEqual([])
  })

  it.each(definitions)('is a $resourceType, and shown as the scopes of the token allow', async ({ resourceType: type }) => {
    const shown = async (scopes: string): Promise<readonly [number, boolean]> => {
      const who: Caller = { tenant: 'south', client: 'app', scopes }
      const [read, search] = [await site.ask(who, 'GET', `/${type}/x`), await site.ask(who, 'GET', `/${type}?_total=accurate`)]
      return [read.status, search.text.includes(MARK)]
    }
    expect([
      await shown('system/Patient.rs'),
      await shown(`system/${type}.s`),
      await shown(`system/${type}.rs`),
      await shown(`system/${type}.rs?status=active`),
      await shown(`system/${type}.rs?status=draft`),
    ]).toEqual([
      [403, false],
      [403, true],
      [200, true],
      [200, true],
      [404, false],
    ])
  })

  /** Expects that each resource still has its first version. */
  async function expectUnchanged(resources: readonly Json[]): Promise<void> {
    for (const { resourceType } of resources) {
      const { body } = await site.ask(COMMONS, 'GET', `/${resourceType}/x`)
      expect([resourceType, body.meta?.versionId]).toEqual([resourceType, '1'])
    }
  }

  it.each(Object.entries(WRITES))('is no definition that a %s without system/admin changes', async (_, write) => {
    const writer: Caller = { tenant: 'commons', client: 'writer', scopes: 'system/*.cruds' }
    for (const resource of definitions) {
      const { text } = await site.ask(writer, ...write(resource))
      expect([resource.resourceType, text]).toEqual([resource.resourceType, expect.stringContaining('it needs the scope system/admin')])
    }
    await expectUnchanged(definitions)
  })

  it.each(Object.entries(WRITES))('is not changed by a %s in another tenant', async (_, write) => {
    for (const resource of [...definitions, ...others]) await site.ask(NORTH, ...write(resource))
    await expectUnchanged([...definitions, ...others])
  })
})
