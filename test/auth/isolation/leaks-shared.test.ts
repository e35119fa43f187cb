/** The shared tenant: other tenants see its definitions and nothing else, by reads only. Only administrators of it write them. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { openSite, operatorOf, type RequestContent, type Site } from '../site.ts'
import type { Caller, Json } from './oracle.ts'

const COMMONS = operatorOf('commons')
const NORTH = operatorOf('north')

/** Text in each resource of the shared tenant. */
const MARK = 'commons-only'
const ABOUT = { url: `urn:${MARK}`, name: 'X', status: 'active', description: MARK }

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
  })
  afterAll(() => site.close())

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
