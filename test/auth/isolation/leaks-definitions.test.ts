/**
 * Definitions that tenants write. What one has changes no answer of another; only administrators write them; and what a check tells of one is
 * its canonical, its rules and what would be right, whoever asks, and nothing else that it says.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { CheckedClock } from '../../../lambdas/adapters/in-process/checked-clock.ts'
import { openSite, operatorOf, type RequestContent, type Site, type TestResponse } from '../site.ts'
import {
  codeSystem,
  JSON_PATCH,
  OTHER_TENANT_DEFINITIONS,
  OWN_DEFINITIONS,
  profile,
  REQUESTS,
  type Request,
  urlOf,
  valueSet,
} from './definitions.ts'
import type { Caller, Json } from './oracle.ts'
import { TENANTS } from './population.ts'
import { CALLERS, nameOfCaller, sampleCells } from './whos.ts'
import { createOpenSeal } from './worlds.ts'

const RETIRED = '[{"op":"replace","path":"/status","value":"retired"}]'

const OWNERS: readonly Caller[] = [
  operatorOf('north'),
  { tenant: 'north', client: 'system', scopes: 'system/*.cruds' },
  { tenant: 'north', client: 'some', scopes: 'system/Observation.cruds' },
  { tenant: 'north', client: 'app', scopes: 'patient/*.cruds', patient: 'a.id' },
]

const START = Date.now()

describe('The definitions of a tenant', () => {
  let alone: Site
  let shared: Site
  let now = START
  beforeAll(async () => {
    const clock = new CheckedClock(() => undefined, { wall: () => now, steady: () => now, sinceBoot: () => now })
    ;[alone, shared] = (await Promise.all(
      [0, 1].map(() => openSite({ settings: { FHIR_VALIDATE_PROFILES: 'enforce' }, clock, seal: createOpenSeal })),
    )) as [Site, Site]
    for (const resource of OTHER_TENANT_DEFINITIONS) await stored(shared, 'south', resource)
    for (const site of [alone, shared]) for (const resource of [...OWN_DEFINITIONS, patient]) await stored(site, 'north', resource)
  })
  afterAll(() => Promise.all([alone.close(), shared.close()]))

  it.each(OWNERS)('change no response of another tenant: $client', async (who) => {
    const different: string[] = []
    const statuses = new Map<number, number>()
    for (const [i, [method, target, sent]] of REQUESTS.entries()) {
      now += 1_000
      const [a, b] = [await alone.ask(who, method, target, sent), await shared.ask(who, method, target, sent)]
      statuses.set(a.status, (statuses.get(a.status) ?? 0) + 1)
      if (shown(a) !== shown(b)) different.push(`${method} ${target} ${JSON.stringify(sent)}\n${shown(a)}\n${shown(b)}`)
      // What is prepared for one tenant is not what is prepared for another.
      if (i % 5 === 0)
        await stored(shared, 'south', { ...OTHER_TENANT_DEFINITIONS[i % OTHER_TENANT_DEFINITIONS.length]!, version: `2.${i}` })
    }
    expect(different).toEqual([])
    expect(statuses.get(422)).toBeGreaterThan(3)
    expect(statuses.get(200)).toBeGreaterThan(5)
  })
})

describe('Definitions', () => {
  let site: Site
  beforeAll(async () => {
    site = await openSite({ settings: { FHIR_VALIDATE_PROFILES: 'enforce' } })
    for (const tenant of TENANTS)
      for (const resource of [...OWN_DEFINITIONS, ...OTHER_TENANT_DEFINITIONS, patient, caring]) await stored(site, tenant, resource)
  })
  afterAll(() => site.close())

  const TYPES = ['StructureDefinition', 'ValueSet', 'CodeSystem'] as const
  const entry = (method: string, url: string, resource?: Json): Json => ({ request: { method, url }, ...(resource && { resource }) })
  const bundle = (type: string, ...entries: readonly Json[]): RequestContent => ({ body: { resourceType: 'Bundle', type, entry: entries } })
  const WRITES: readonly ((resource: Json) => Request)[] = [
    (body) => ['PUT', `/${body.resourceType}/${body.id}`, { body }],
    (body) => ['POST', `/${body.resourceType}`, { body }],
    (body) => ['POST', `/${body.resourceType}`, { body, headers: { 'if-none-exist': `url=${body.url}` } }],
    (body) => ['PUT', `/${body.resourceType}?url=${body.url}`, { body }],
    ({ resourceType, id }) => ['PATCH', `/${resourceType}/${id}`, { body: Buffer.from(RETIRED), headers: JSON_PATCH }],
    ({ resourceType, id }) => ['DELETE', `/${resourceType}/${id}`],
    ({ resourceType, url }) => ['DELETE', `/${resourceType}?url=${url}`],
    (resource) => ['POST', '', bundle('batch', entry('PUT', `${resource.resourceType}/${resource.id}`, resource))],
    (resource) => ['POST', '', bundle('transaction', entry('PUT', `${resource.resourceType}/${resource.id}`, resource))],
    ({ resourceType, id }) => ['POST', '', bundle('transaction', entry('DELETE', `${resourceType}/${id}`))],
  ]
  const kindOf = (type: string, id: string): Json =>
    ({ StructureDefinition: profile(id, 'device'), ValueSet: valueSet(id, 'paint'), CodeSystem: codeSystem(id, 'blue') })[type]!

  it('are written by administrators only, whether or not their ids exist', async () => {
    const wrong: string[] = []
    for (const [i, who] of sampleCells(CALLERS, 3, 0).entries()) {
      const type = TYPES[i % TYPES.length]!
      const write = WRITES[i % WRITES.length]!
      const said = await Promise.all(
        ['both', 'only-other', 'never'].map(async (id) => {
          const { status, body, text } = await site.ask(who, ...write(kindOf(type, id)))
          return `${body?.type === 'batch-response' ? body.entry[0].response.status.slice(0, 3) : status} ${text.replaceAll(id, 'id')}`
        }),
      )
      const isRefused = said.every((each) => each.startsWith('403 ') && each === said[0])
      if (!isRefused) wrong.push(`${nameOfCaller(who)}: ${JSON.stringify(write(kindOf(type, 'both')))}: ${said}`)
    }
    expect(wrong.slice(0, 10)).toEqual([])
    for (const tenant of TENANTS)
      for (const { resourceType, id } of [...OWN_DEFINITIONS, ...OTHER_TENANT_DEFINITIONS])
        expect((await site.ask(operatorOf(tenant), 'GET', `/${resourceType}/${id}`)).body.meta.versionId).toMatch(/^[123]$/)
    for (const write of WRITES) {
      const { status, body } = await site.ask(operatorOf('north'), ...write(kindOf('CodeSystem', 'paint')))
      expect([200, 201, 204, 409]).toContain(status)
      expect(JSON.stringify(body ?? {})).not.toContain('forbidden')
    }
  })

  it('disclose only canonical URLs, rules and expectations to clients without read access', async () => {
    const who: Caller = { tenant: 'south', client: 'app', scopes: 'patient/Observation.cruds', patient: 'a.id' }
    for (const type of TYPES) expect((await site.ask(who, 'GET', `/${type}?_summary=count`)).status).toBe(403)
    const texts: string[] = []
    for (const [method, target, sent] of REQUESTS) texts.push((await site.ask(who, method, target, sent)).text)
    expect(texts.filter((text) => text.includes('SECRET'))).toEqual([])
    expect(texts.some((text) => text.includes(urlOf('only-other')))).toBe(true)
  })
})

const patient: Json = { resourceType: 'Patient', id: 'a.id', name: [{ family: 'Abel' }] }

/** Tokens of this person act for the patient as long as this resource says so. */
const caring: Json = { resourceType: 'RelatedPerson', id: 'r-own.id', patient: { reference: 'Patient/a.id' } }

async function stored({ ask }: Site, tenant: string, resource: Json): Promise<void> {
  const { status, text } = await ask(operatorOf(tenant), 'PUT', `/${resource.resourceType}/${resource.id}`, { body: resource })
  if (status !== 200 && status !== 201) throw new Error(`${status} ${text}`)
}

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/g
/** But for what is sealed of how much is written, and names by chance. */
function shown({ status, headers: { 'x-index-token': _, 'x-request-id': __, ...headers }, text }: TestResponse): string {
  return `${status} ${JSON.stringify(headers)} ${text}`.replace(UUID, 'uuid')
}
