/**
 * What Inferno's US Core kit asks of what it found: that it is as its profile says, that what must be supported is in it, that its references lead
 * somewhere, and that missing data is told. https://github.com/inferno-framework/us-core-test-kit
 */
import { describe, expect, it } from '@jest/globals'
import type { Tree } from '../api/server.ts'
import { US_CORE } from '../fixtures/us-core/findings.ts'
import { elementsAt, referencesIn } from './elements.ts'
import { NOT_IN_EXAMPLES, NOT_REFERRED_TO, PROFILE_GROUPS } from './groups.ts'
import { examplesOfType, PACKAGE_RESOURCES, STORED, withExamples } from './site.ts'

const { get, post, put } = withExamples()

const words = (text: string | undefined): readonly string[] => (text ?? '').split(' ').filter((word) => word !== '')

/** The package's examples of a profile, as a search finds them. */
async function examplesOf(profile: string, type: string): Promise<readonly Tree[]> {
  const { body } = await get(`/${type}?_profile=${US_CORE}${profile}&_count=1000`, { prefer: 'handling=strict' })
  const found: readonly Tree[] = body.entry.map(({ resource }: Tree) => resource)
  return found.filter(({ id }) => PACKAGE_RESOURCES.some((each) => each.resourceType === type && each.id === id))
}

async function errorsOf(resource: Tree, profile: string): Promise<readonly string[]> {
  const { status, body } = await post(`/${resource.resourceType}/$validate?profile=${US_CORE}${profile}`, resource)
  expect([resource.id, status]).toEqual([resource.id, 200])
  return body.issue.flatMap(({ severity, details }: Tree) => (severity === 'error' ? [`${resource.id} ${details.text}`] : []))
}

async function read(reference: string): Promise<Tree> {
  const { status, body } = await get(`/${reference}`)
  expect([reference, status, `${body.resourceType}/${body.id}`]).toEqual([reference, 200, reference])
  return body
}

describe.each(PROFILE_GROUPS)('%s', (profile, type, mustSupport, references) => {
  it('has examples, which conform', async () => {
    const examples = await examplesOf(profile, type)
    expect(examples).not.toEqual([])
    const errors: string[] = []
    for (const each of examples) errors.push(...(await errorsOf(each, profile)))
    expect(errors).toEqual([])
  })

  it('has examples of its mustSupport elements', async () => {
    const examples = await examplesOf(profile, type)
    const absent = words(mustSupport).filter((path) => examples.every((each) => elementsAt(each, path).length === 0))
    expect(absent).toEqual(words(NOT_IN_EXAMPLES[profile]))
  })

  it('has references to resources that conform to their profiles', async () => {
    const examples = await examplesOf(profile, type)
    const missing: string[] = []
    for (const [path, profiles] of words(references).map((each) => each.split(':') as [string, string])) {
      const referred = new Set(examples.flatMap((each) => elementsAt(each, path)).flatMap(({ reference }: Tree) => reference ?? []))
      const targets = await Promise.all([...referred].filter((reference) => !reference.startsWith('#')).map(read))
      for (const wanted of profiles.split('|')) if (!(await isAnyOf(targets, wanted))) missing.push(`${path}:${wanted}`)
    }
    expect(missing).toEqual(words(NOT_REFERRED_TO[profile]))
  })
})

async function isAnyOf(resources: readonly Tree[], profile: string): Promise<boolean> {
  const type = PROFILE_GROUPS.find(([each]) => each === profile)?.[1] ?? 'Medication'
  for (const each of resources) if (each.resourceType === type && (await errorsOf(each, profile)).length === 0) return true
  return false
}

it('references in stored resources lead to stored resources', async () => {
  const own = STORED.flatMap((each) => referencesIn(each).filter((reference) => !/^(#|http)/.test(reference)))
  for (const reference of new Set(own)) await read(reference)
  const contained = STORED.flatMap((each) => referencesIn(each).map((reference) => [each, reference] as const)).filter(([, reference]) =>
    reference.startsWith('#'),
  )
  expect(contained).toHaveLength(2)
  for (const [{ contained: inside }, reference] of contained) expect(inside.map(({ id }: Tree) => `#${id}`)).toContain(reference)
})

describe('missing data', () => {
  const ABSENT = 'http://hl7.org/fhir/StructureDefinition/data-absent-reason'
  const unknown = { extension: [{ url: ABSENT, valueCode: 'unknown' }] }
  const [patient] = examplesOfType('Patient')
  const nameless: Tree = { ...patient, id: 'nameless', name: [unknown], birthDate: undefined, _birthDate: unknown }

  it('in an extension conforms, is returned as sent, and is not found by searches', async () => {
    expect(await errorsOf(nameless, 'us-core-patient')).toEqual([])
    expect(await errorsOf({ ...nameless, name: [{ text: 'x' }] }, 'us-core-patient')).toEqual([expect.stringContaining('us-core-6')])
    expect((await put('/Patient/nameless', nameless)).status).toBe(201)
    const { meta, ...body } = await read('Patient/nameless')
    expect(JSON.parse(JSON.stringify({ ...nameless, meta }))).toEqual({ ...body, meta })
    const found = async (query: string): Promise<unknown> => (await get(`/Patient?_id=nameless&${query}`)).body.total
    expect(await found('gender=female,male,other,unknown')).toBe(1)
    expect([await found('birthdate=ge0001'), await found('birthdate:missing=true')]).toEqual([0, 1])
  })

  it('in a code is found by that code', async () => {
    const { body } = await get('/CareTeam?role=http://terminology.hl7.org/CodeSystem/data-absent-reason|unknown')
    expect(body.entry.map(({ resource }: Tree) => resource.id)).toEqual(['missing-coded-data-example'])
    const { body: pressures } = await get(
      '/Observation?patient=example&component-value-quantity:missing=false&combo-data-absent-reason=unknown',
    )
    expect(pressures.entry.map(({ resource }: Tree) => resource.id)).toEqual(['bp-data-absent'])
  })

  it('is possible for status, which no search requires', async () => {
    for (const type of ['AllergyIntolerance', 'Device', 'DiagnosticReport', 'Immunization', 'Procedure', 'ServiceRequest'])
      expect((await get(`/${type}?patient=example`, { prefer: 'handling=strict' })).status).toBe(200)
  })
})
