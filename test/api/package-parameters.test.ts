/** Search parameters of packages: searched in all tenants while their package is there, built while the server answers. */
import { beforeAll, describe, expect, it } from '@jest/globals'
import { type AddedPackage, addPackage, openPackages, removePackage } from '../../lambdas/runtime/control/package-commands.ts'
import type { EmbeddedServer } from '../../lambdas/runtime/embedded/server.ts'
import { newFolder, runAtEnd } from '../fixtures/at-end.ts'
import { eventually } from '../fixtures/eventually.ts'
import { profile } from '../fixtures/packages.ts'
import { archiveOf, guideOf } from '../fixtures/payer/guides.ts'
import { clientOf, startServer, type TestClient, type Tree } from './server.ts'

const claim = (id: string, more: Tree): Tree => ({
  resourceType: 'ExplanationOfBenefit',
  id,
  status: 'active',
  use: 'claim',
  outcome: 'complete',
  created: '2026-01-02',
  type: { coding: [{ code: 'institutional', system: 'http://terminology.hl7.org/CodeSystem/claim-type' }] },
  patient: { reference: 'Patient/a' },
  insurer: { reference: 'Organization/payer' },
  provider: { reference: 'Organization/provider' },
  insurance: [{ focal: true, coverage: { reference: 'Coverage/c' } }],
  ...more,
})

type Opened = { readonly embedded: EmbeddedServer; readonly client: TestClient; readonly data: string }

async function opened(settings: Readonly<Record<string, string>> = {}, data = newFolder()): Promise<Opened> {
  const { embedded, base } = await startServer(settings, data)
  return { embedded, client: clientOf(() => base), data }
}

async function withPackages<Result>(data: string, work: (packages: Awaited<ReturnType<typeof openPackages>>) => Promise<Result>) {
  const packages = await openPackages(data)
  try {
    return await work(packages)
  } finally {
    await packages.close()
  }
}

const added = async (data: string, label: string, more: readonly Tree[] = []): Promise<AddedPackage> => {
  const file = await archiveOf(guideOf(label), more)
  return (await withPackages(data, (packages) => addPackage(packages, { file })))[0]!
}

const removed = (data: string, label: string) => {
  const [name = '', version = ''] = `hl7.fhir.us.${label}`.split('@')
  return withPackages(data, (packages) => removePackage(packages, { name, version }))
}

/** Returns the ids of the matches, or the status if it is another than 200. */
async function foundIn(client: TestClient, query: string): Promise<string | number> {
  const { status, body } = await client.get(`/${query}`, { prefer: 'handling=strict' })
  if (status !== 200) return status
  const matches = (body.entry ?? []).filter(({ search }: Tree) => search.mode === 'match')
  return matches
    .map(({ resource }: Tree) => resource.id)
    .toSorted()
    .join(' ')
}

const eventuallyFound = (client: TestClient, query: string, expected: string | number) =>
  eventually(() => foundIn(client, query), { until: (found) => found === expected, every: 10, within: 60_000 })

describe('parameters of CARIN BB 2.2.0', () => {
  let server: Opened
  beforeAll(async () => {
    server = await opened()
    runAtEnd(() => server.embedded.close())
    const { client } = server
    await client.put('/ExplanationOfBenefit/early', claim('early', { billablePeriod: { start: '2025-01-01', end: '2025-01-31' } }))
    await client.put('/ExplanationOfBenefit/late', claim('late', { billablePeriod: { start: '2026-01-01', end: '2026-01-31' } }))
  })

  it('find stored claims and new ones once the package is added, and nothing once it is removed', async () => {
    const { client, data } = server
    expect(await foundIn(client, 'ExplanationOfBenefit?service-date=2025')).toBe(400)
    const { parameters } = await added(data, 'carin-bb@2.2.0')
    expect(parameters.filter(({ state }) => state === 'used').map(({ code }) => code)).toEqual([
      'billable-period-start',
      'insurer',
      'service-date',
      'service-start-date',
      'type',
    ])
    await eventuallyFound(client, 'ExplanationOfBenefit?service-date=2025', 'early')
    await client.put('/ExplanationOfBenefit/next', claim('next', { billablePeriod: { start: '2025-03-01', end: '2025-03-31' } }))
    expect(await foundIn(client, 'ExplanationOfBenefit?service-date=2025')).toBe('early next')
    expect(await foundIn(client, 'ExplanationOfBenefit?type=institutional&insurer=Organization/payer')).toBe('early late next')
    const { body } = await client.get('/metadata')
    const guide = 'http://hl7.org/fhir/us/carin-bb/ImplementationGuide/hl7.fhir.us.carin-bb|2.2.0'
    expect(body.implementationGuide).toContain(guide)
    const { searchParam } = body.rest[0].resource.find(({ type }: Tree) => type === 'ExplanationOfBenefit')
    const definition = 'http://hl7.org/fhir/us/carin-bb/SearchParameter/explanationofbenefit-service-date'
    expect(searchParam).toContainEqual({ name: 'service-date', definition, type: 'date' })
    await removed(data, 'carin-bb@2.2.0')
    await eventuallyFound(client, 'ExplanationOfBenefit?service-date=2025', 400)
  })
})

describe('the CapabilityStatement', () => {
  let server: Opened
  beforeAll(async () => {
    server = await opened()
    runAtEnd(() => server.embedded.close())
  })
  const claims = async (): Promise<Tree> => (await server.client.get('/metadata')).body
  const resource = ({ rest }: Tree, type: string): Tree => rest[0].resource.find((each: Tree) => each.type === type)

  it('names the statement of a package once the server has all that it requires', async () => {
    const { client, data } = server
    const url = 'http://hl7.org/fhir/us/davinci-pdex-plan-net/CapabilityStatement/plan-net'
    const part = { type: 'PractitionerRole', searchParam: [{ name: 'network' }], searchInclude: ['PractitionerRole:network'] }
    const statement = (id: string, resource: readonly Tree[]): Tree => ({
      ...{ resourceType: 'CapabilityStatement', id, url: `${url}-${id}`, version: '1.2.0', status: 'active', kind: 'requirements' },
      rest: [{ mode: 'server', resource }],
    })
    const lacking = { type: 'Organization', operation: [{ name: 'greet', definition: 'http://example.org/greet' }] }
    await added(data, 'davinci-pdex-plan-net@1.2.0', [statement('met', [part]), statement('unmet', [part, lacking])])
    await eventuallyFound(client, 'PractitionerRole?network=Organization/n', '')
    const body = await claims()
    expect(body.instantiates.filter((each: string) => each.startsWith(url))).toEqual([`${url}-met|1.2.0`])
    expect(resource(body, 'PractitionerRole').searchInclude).toContain('PractitionerRole:network')
    expect(resource(body, 'Organization').searchRevInclude).toContain('PractitionerRole:network')
    expect(await foundIn(client, 'PractitionerRole?_include=PractitionerRole:network')).toBe('')
    expect(await foundIn(client, 'Organization?_revinclude=PractitionerRole:network')).toBe('')
  })

  it('names the versions of a profile if there are several', async () => {
    const { data } = server
    const patient = 'http://hl7.org/fhir/us/core/StructureDefinition/us-core-patient'
    const definition = {
      ...profile('us-core-patient', '7.0.0', [{ id: 'Patient.active', path: 'Patient.active' }]),
      url: patient,
      type: 'Patient',
    }
    const supported = async () => resource(await claims(), 'Patient').supportedProfile.filter((each: string) => each.startsWith(patient))
    expect(await supported()).toEqual([patient])
    await added(data, 'core@7.0.0', [definition])
    expect(await supported()).toEqual([`${patient}|6.1.0`, `${patient}|7.0.0`])
  })
})
