/** A server that holds the examples of US Core, and a Provenance of each type it is asked for. */
import { beforeAll, expect } from '@jest/globals'
import { type TestClient, withServer } from '../api/server.ts'
import type { Tree } from '../fixtures/resources.ts'
import { US_CORE_EXAMPLES } from '../fixtures/us-core/examples.ts'
import { SEARCHES, WITHOUT_PROVENANCE } from './searches.ts'

/** Its Bundles are answers to searches. A role stands in one of them only. */
const own: readonly Tree[] = US_CORE_EXAMPLES.filter(({ resourceType }) => resourceType !== 'Bundle')
const inBundles: readonly Tree[] = US_CORE_EXAMPLES.filter(({ resourceType }) => resourceType === 'Bundle')
  .flatMap((bundle: Tree) => bundle.entry.map(({ resource }: Tree) => resource))
  .filter(
    ({ resourceType, id }: Tree) =>
      resourceType !== 'OperationOutcome' && !own.some((each) => each.resourceType === resourceType && each.id === id),
  )

const example = (key: string): Tree => own.find(({ resourceType, id }) => `${resourceType}/${id}` === key)
const to = (reference: string): Tree => ({ reference })

/** What searches are about and no example has. */
const MORE: readonly Tree[] = [
  { ...example('CarePlan/colonoscopy'), id: 'planned', period: { start: '2016-05-20', end: '2016-06-20' } },
  { ...example('Encounter/1036'), id: 'identified', identifier: [{ system: 'http://hospital.example.org/visits', value: 'v-1' }] },
  {
    ...example('MedicationDispense/medicationdispense-example'),
    id: 'referring',
    medicationCodeableConcept: undefined,
    medicationReference: to('Medication/uscore-med1'),
  },
  {
    ...inBundles.find(({ resourceType }) => resourceType === 'PractitionerRole'),
    id: 'reached',
    endpoint: [to('Endpoint/71')],
    practitioner: to('Practitioner/practitioner-1'),
  },
  {
    ...{ ...example('CareTeam/example'), id: 'of-all' },
    participant: ['PractitionerRole/PractitionerRole-1', 'Practitioner/practitioner-1', 'Patient/example', 'RelatedPerson/shaw-niece'].map(
      (reference) => ({ role: [{ text: 'any' }], member: to(reference) }),
    ),
  },
]

const [recorded] = US_CORE_EXAMPLES.filter(({ resourceType }) => resourceType === 'Provenance') as readonly Tree[]

/** The package has one Provenance, of a patient. */
const provenances: readonly Tree[] = Object.keys(SEARCHES)
  .filter((type) => !WITHOUT_PROVENANCE.includes(type))
  .map((type) => {
    const { id } = own.find(({ resourceType }) => resourceType === type)!
    return { ...recorded, id: `of-${type}`, target: [{ reference: `${type}/${id}` }] }
  })

/** The resources of the package. */
export const PACKAGE_RESOURCES: readonly Tree[] = [...own, ...inBundles]

export const STORED: readonly Tree[] = [...PACKAGE_RESOURCES, ...MORE, ...provenances]

export const examplesOfType = (type: string): readonly Tree[] => STORED.filter(({ resourceType }) => resourceType === type)

/** What a slow machine writes within the time a gateway gives it. */
const IN_A_BATCH = 40

export function withExamples(): TestClient {
  const client = withServer()
  beforeAll(async () => {
    for (let first = 0; first < STORED.length; first += IN_A_BATCH) {
      const batch = STORED.slice(first, first + IN_A_BATCH)
      const entry = batch.map((resource) => ({ resource, request: { method: 'PUT', url: `${resource.resourceType}/${resource.id}` } }))
      const { body } = await client.post('/', { resourceType: 'Bundle', type: 'batch', entry }, { 'x-consistency': 'strong' })
      expect(body.entry.map(({ response }: Tree) => response.status.slice(0, 3))).toEqual(batch.map(() => '201'))
    }
  })
  return client
}
