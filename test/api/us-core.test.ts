/** US Core over HTTP: what the CapabilityStatement says of it, and its own search parameters. https://hl7.org/fhir/us/core/STU6.1/ @cloud:here */
import { beforeAll, describe, expect, it } from '@jest/globals'
import { US_CORE_EXAMPLES, US_CORE_SEARCH_PARAMETERS } from '../fixtures/us-core/examples.ts'
import { type Tree, withServer } from './server.ts'

const { get, post } = withServer()

const CORE = 'http://hl7.org/fhir/us/core'
const COMBINATION = 'http://hl7.org/fhir/StructureDefinition/capabilitystatement-search-parameter-combination'
const strict = { prefer: 'handling=strict' }

/** What takes part in searches alone: a Bundle of the package holds what stands beside it, too. */
const stored: readonly Tree[] = US_CORE_EXAMPLES.filter(({ resourceType }) => resourceType !== 'Bundle')

beforeAll(async () => {
  const entry = stored.map((resource) => ({ resource, request: { method: 'PUT', url: `${resource.resourceType}/${resource.id}` } }))
  const { body } = await post('/', { resourceType: 'Bundle', type: 'batch', entry }, { 'x-consistency': 'strong' })
  expect(body.entry.map(({ response }: Tree) => response.status.slice(0, 3))).toEqual(stored.map(() => '201'))
})

const found = async (query: string): Promise<readonly string[]> => {
  const { status, body } = await get(`/${query}&_count=1000`, strict)
  expect([query, status]).toEqual([query, 200])
  return (body.entry ?? []).map(({ resource }: Tree) => resource.id).toSorted()
}
const those = (type: string, has: (resource: Tree) => boolean): readonly string[] =>
  stored.flatMap((resource) => (resource.resourceType === type && has(resource) ? [resource.id] : [])).toSorted()

describe('the CapabilityStatement', () => {
  let statement: Tree
  const of = (type: string): Tree => statement.rest[0].resource.find((each: Tree) => each.type === type)
  const combinationsOf = ({ extension = [] }: Tree): readonly (readonly string[])[] =>
    extension
      .filter(({ url }: Tree) => url === COMBINATION)
      .map((each: Tree) => each.extension.map(({ url, valueString }: Tree) => (url === 'required' ? valueString : url)))
  beforeAll(async () => {
    statement = (await get('/metadata')).body
  })

  it('instantiates the server statement of US Core, without its expectations', () => {
    expect(statement.instantiates).toContain(`${CORE}/CapabilityStatement/us-core-server`)
    expect(statement.implementationGuide).toContain(`${CORE}/ImplementationGuide/hl7.fhir.us.core`)
    expect(JSON.stringify(statement)).not.toContain('expectation')
  })

  it('names the profiles of each type, except extensions', () => {
    const all: readonly string[] = statement.rest[0].resource.flatMap(({ supportedProfile = [] }: Tree) =>
      supportedProfile.filter((url: string) => !url.startsWith('#')),
    )
    expect([all.length, new Set(all).size]).toEqual([49, 49])
    expect(of('Procedure').supportedProfile).toEqual([`${CORE}/StructureDefinition/us-core-procedure`])
    expect(of('Condition').supportedProfile).toEqual([
      `${CORE}/StructureDefinition/us-core-condition-encounter-diagnosis`,
      `${CORE}/StructureDefinition/us-core-condition-problems-health-concerns`,
    ])
    expect(of('Account').supportedProfile).toBeUndefined()
    const named = US_CORE_EXAMPLES.flatMap(({ meta }) => (meta?.profile as readonly string[] | undefined) ?? []).filter((url) =>
      url.startsWith(CORE),
    )
    expect(named.filter((url) => !all.includes(url))).toEqual([])
  })

  it('names parameter combinations, and each of these searches works', async () => {
    expect(combinationsOf(of('Observation'))).toEqual([
      ['patient', 'code', 'date'],
      ['patient', 'category', 'status'],
      ['patient', 'category', 'date'],
      ['patient', 'category'],
      ['patient', 'code'],
    ])
    expect(combinationsOf(of('Account'))).toEqual([])
    const types: readonly Tree[] = statement.rest[0].resource
    const combined = types.flatMap((each) => combinationsOf(each).map((codes) => [each, codes] as const))
    expect(combined).toHaveLength(67)
    for (const [{ type, searchParam }, codes] of combined) {
      const criteria = codes.map(
        (code) => `${code}=${searchParam.find(({ name }: Tree) => name === code)?.type === 'date' ? 'gt1900' : 'x'}`,
      )
      const query = `/${type}?${criteria.join('&')}`
      expect([query, (await get(query, strict)).status]).toEqual([query, 200])
    }
  })

  it('names the includes of US Core, and they work', async () => {
    expect(of('CareTeam').searchInclude).toEqual(
      expect.arrayContaining(['Practitioner', 'PractitionerRole', 'Patient', 'RelatedPerson'].map((to) => `CareTeam:participant:${to}`)),
    )
    expect(of('MedicationRequest').searchInclude).toContain('MedicationRequest:medication')
    for (const { searchInclude } of statement.rest[0].resource) expect(new Set(searchInclude).size).toBe(searchInclude.length)
    for (const type of ['Patient', 'Observation', 'Procedure']) expect(of(type).searchRevInclude).toContain('Provenance:target')
    const { body } = await get('/CareTeam?_id=example&_include=CareTeam:participant:Practitioner', strict)
    const [match, ...included] = body.entry.map(({ resource, search }: Tree) => `${search.mode} ${resource.resourceType}`)
    expect(match).toBe('match CareTeam')
    expect(new Set(included)).toEqual(new Set(['include Practitioner']))
  })
})

describe('a search parameter of US Core', () => {
  const codingsOf = (patient: Tree, name: string): readonly Tree[] =>
    (patient.extension ?? [])
      .filter(({ url }: Tree) => url === `${CORE}/StructureDefinition/us-core-${name}`)
      .flatMap(({ extension = [], valueCodeableConcept }: Tree) => [
        ...extension.flatMap(({ valueCoding }: Tree) => (valueCoding === undefined ? [] : [valueCoding])),
        ...(valueCodeableConcept?.coding ?? []),
      ])
  const has = (codings: readonly Tree[] = [], code: string): boolean => codings.some((coding) => coding.code === code)
  const ASSERTED = 'http://hl7.org/fhir/StructureDefinition/condition-assertedDate'

  it.each([
    ['Patient?race=2106-3', (each: Tree) => has(codingsOf(each, 'race'), '2106-3')],
    ['Patient?race=urn:oid:2.16.840.1.113883.6.238|1586-7', (each: Tree) => has(codingsOf(each, 'race'), '1586-7')],
    ['Patient?ethnicity=2135-2', (each: Tree) => has(codingsOf(each, 'ethnicity'), '2135-2')],
    ['Patient?ethnicity=urn:oid:2.16.840.1.113883.6.238|2148-5', (each: Tree) => has(codingsOf(each, 'ethnicity'), '2148-5')],
    ['Patient?gender-identity=UNK', (each: Tree) => has(codingsOf(each, 'genderIdentity'), 'UNK')],
    [
      'Condition?asserted-date=ge2016',
      ({ extension = [] }: Tree) => extension.some(({ url, valueDateTime }: Tree) => url === ASSERTED && valueDateTime >= '2016'),
    ],
    ['Encounter?discharge-disposition=01', ({ hospitalization }: Tree) => has(hospitalization?.dischargeDisposition?.coding, '01')],
    [
      'CareTeam?role=http://snomed.info/sct|17561000',
      ({ participant = [] }: Tree) => participant.some(({ role = [] }: Tree) => role.some(({ coding }: Tree) => has(coding, '17561000'))),
    ],
    ['Goal?description=406156006', ({ description }: Tree) => has(description.coding, '406156006')],
  ])('finds matching examples: %s', async (query, isMatch) => {
    const expected = those(query.split('?')[0]!, isMatch)
    expect(expected).not.toEqual([])
    expect(await found(query)).toEqual(expected)
  })
})

it('parameters of R4 that US Core redefines stay unchanged, without a rebuild', async () => {
  const entry = US_CORE_SEARCH_PARAMETERS.map((resource) => ({
    resource,
    request: { method: 'PUT', url: `SearchParameter/${resource.id}` },
  }))
  const { body } = await post('/', { resourceType: 'Bundle', type: 'batch', entry })
  const told = body.entry.map(({ response }: Tree) => [response.status.slice(0, 3), response.outcome.issue[0].code])
  expect(told).toEqual(US_CORE_SEARCH_PARAMETERS.map(() => ['201', 'business-rule']))
  const status = await get('/$reindex-status')
  expect(status.body.parameter.filter(({ name }: Tree) => name !== 'lag')).toEqual([])
})
