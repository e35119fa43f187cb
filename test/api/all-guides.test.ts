/** The guides of payers in one running server: US Core, CARIN BB, Plan Net and PDex, each in the versions that the law names. */
import { beforeAll, describe, expect, it } from '@jest/globals'
import { addPackage, openPackages } from '../../lambdas/runtime/control/package-commands.ts'
import { newFolder, runAtEnd } from '../fixtures/at-end.ts'
import { eventually } from '../fixtures/eventually.ts'
import { archiveOf, GUIDES } from '../fixtures/payer/guides.ts'
import { clientOf, startServer, type TestClient, type Tree } from './server.ts'

const PLAN_NET = 'http://hl7.org/fhir/us/davinci-pdex-plan-net/StructureDefinition'
const PERIOD = { start: '2026-01-01', end: '2026-01-31' }
const to = (reference: string): Tree => ({ reference })
const coded = (code: string): Tree => ({ coding: [{ system: 'http://example.org/codes', code }] })

const RESOURCES: readonly Tree[] = [
  {
    ...{ resourceType: 'ExplanationOfBenefit', status: 'active', use: 'claim', outcome: 'complete', created: '2026-02-01' },
    ...{ type: coded('institutional'), patient: to('Patient/p'), insurer: to('Organization/n'), provider: to('Organization/n') },
    insurance: [{ focal: true, coverage: to('Coverage/c') }],
    billablePeriod: PERIOD,
  },
  {
    ...{ resourceType: 'Consent', status: 'active', scope: coded('privacy'), category: [coded('x')], policyRule: coded('y') },
    provision: {
      type: 'permit',
      action: [
        {
          ...coded('disclose'),
          extension: [
            {
              url: 'http://hl7.org/fhir/us/davinci-pdex/StructureDefinition/pdex-provider-access-use-case',
              valueCodeableConcept: coded('provider'),
            },
          ],
        },
      ],
    },
  },
  {
    ...{ resourceType: 'Group', type: 'person', actual: true },
    characteristic: [{ code: coded('payer'), valueReference: to('Organization/n'), exclude: false }],
  },
  {
    ...{ resourceType: 'HealthcareService', coverageArea: [to('Location/l')] },
    extension: [{ url: `${PLAN_NET}/delivery-method`, extension: [{ url: 'type', valueCodeableConcept: coded('virtual') }] }],
  },
  {
    resourceType: 'InsurancePlan',
    name: 'Gold',
    coverageArea: [to('Location/l')],
    network: [to('Organization/n')],
    plan: [{ type: coded('gold') }],
  },
  {
    ...{ resourceType: 'Organization', name: 'Network' },
    extension: [
      { url: `${PLAN_NET}/location-reference`, valueReference: to('Location/l') },
      { url: 'http://hl7.org/fhir/StructureDefinition/organization-period', valuePeriod: PERIOD },
    ],
  },
  { resourceType: 'OrganizationAffiliation', period: PERIOD, network: [to('Organization/n')] },
  { resourceType: 'Practitioner', extension: [{ url: `${PLAN_NET}/practitioner-period`, valuePeriod: PERIOD }] },
  {
    ...{ resourceType: 'PractitionerRole', period: PERIOD },
    extension: [{ url: `${PLAN_NET}/network-reference`, valueReference: to('Organization/n') }],
  },
]

/** A search by each parameter of the guides that R4 lacks. Each finds the resource of its type. */
const SEARCHES = [
  ...['billable-period-start=2026-01-01', 'insurer=Organization/n', 'service-date=2026-01', 'service-start-date=2026-01-01'].map(
    (query) => `ExplanationOfBenefit?${query}`,
  ),
  ...['ExplanationOfBenefit?type=institutional', 'ExplanationOfBenefit?use=claim'],
  ...['Consent?provision-type=permit', 'Consent?provision-action=disclose', 'Consent?provider-access=provider'],
  'Group?characteristic-value-reference=Organization/n',
  'HealthcareService?delivery-method=virtual',
  ...['InsurancePlan?coverage-area=Location/l', 'InsurancePlan?network=Organization/n', 'InsurancePlan?plan-type=gold'],
  ...['Organization?coverage-area=Location/l', 'Organization?period=2026-01'],
  ...['OrganizationAffiliation?period=2026-01', 'Practitioner?period=2026-01'],
  ...['PractitionerRole?network=Organization/n', 'PractitionerRole?period=2026-01'],
]

/** US Core 6.1.0 is built in. */
const ADDED = GUIDES.filter(({ manifest }) => `${manifest.name}@${manifest.version}` !== 'hl7.fhir.us.core@6.1.0')

describe('The guides of payers in one server', () => {
  let client: TestClient
  const search = (query: string) => client.get(`/${query}`, { prefer: 'handling=strict' })
  beforeAll(async () => {
    const data = newFolder()
    const { embedded, base } = await startServer({}, data)
    runAtEnd(() => embedded.close())
    client = clientOf(() => base)
    for (const resource of RESOURCES) {
      const { status, body } = await client.put(`/${resource.resourceType}/one`, { ...resource, id: 'one' })
      expect([status, body.issue]).toEqual([201, undefined])
    }
    const packages = await openPackages(data)
    for (const guide of ADDED) await addPackage(packages, { file: await archiveOf(guide) })
    await packages.close()
  })

  it.each(SEARCHES)('find by each new parameter: %s', async (query) => {
    const { body } = await eventually(() => search(query), { until: ({ status }) => status === 200, every: 10, within: 60_000 })
    expect(body.entry?.map(({ resource }: Tree) => resource.id)).toEqual(['one'])
  })

  it('are named in metadata, with each of their parameters once', async () => {
    for (const query of SEARCHES)
      await eventually(() => search(query), { until: ({ status }) => status === 200, every: 10, within: 60_000 })
    const { body } = await client.get('/metadata')
    const guides = ADDED.map(({ manifest }) => `${manifest.name}|${manifest.version}`)
    const named = body.implementationGuide.map((each: string) => each.split('/').at(-1)).filter((each: string) => each.includes('|'))
    expect(named.toSorted()).toEqual(guides.toSorted())
    for (const query of SEARCHES) {
      const [type, code] = query.split(/[?=]/)
      const { searchParam } = body.rest[0].resource.find((each: Tree) => each.type === type)
      expect(searchParam.filter(({ name }: Tree) => name === code).length).toBe(1)
    }
  })

  it('leave $validate as it is', async () => {
    const { status, body } = await client.post('/ExplanationOfBenefit/$validate', { ...RESOURCES[0], status: 'lost' })
    expect([status, body.issue.some(({ expression }: Tree) => expression?.[0] === 'ExplanationOfBenefit.status')]).toEqual([200, true])
  })
})
