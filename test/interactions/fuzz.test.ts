/**
 * Resources, definitions, packages and expressions changed at random: whatever they are, the answer is one of FHIR, and the server goes on.
 */
import { Readable } from 'node:stream'
import { expect, it } from '@jest/globals'
import { ArchiveError, readArchive } from '../../lambdas/adapters/filesystem/package-archive.ts'
import { buildPackage } from '../../lambdas/fhir/profile/definitions/package-files.ts'
import type { Resource } from '../../lambdas/fhir/resource.ts'
import { profileChecker } from '../../lambdas/interactions/validation/profile-findings.ts'
import { type TestResponse, withServer } from '../api/server.ts'
import { type Random, randomOf } from '../contracts/generated-search.ts'
import { caseCountOf, firstSeed, isFullRun } from '../fixtures/long-runs.ts'
import { EXPENSIVE_EXPRESSIONS, mutateBytes, mutateText, mutateTree, randomExpressionOf } from '../fixtures/mutations.ts'
import { guideFilesOf, packArchive } from '../fixtures/packages.ts'
import {
  conformanceWithR4,
  FIXED_CLOCK,
  PASSING_RUNNER,
  PROFILE_URL,
  type ProfileElement,
  profile,
  R4_CANONICAL_BASE,
} from '../fixtures/profiles/checking.ts'
import { US_CORE_EXAMPLES } from '../fixtures/us-core/examples.ts'

const SEED = firstSeed() + 1
const { post, put, get } = withServer({ FHIR_VALIDATE_PROFILES: 'enforce' })

/** Each of `count` attempts (a fiftieth in short loops) has its own seed, which a failure names. */
async function each(count: number, attempt: (random: Random, seed: number) => Promise<void>): Promise<void> {
  const first = SEED * 1_000_000
  for (let seed = first; seed < first + caseCountOf(Math.ceil(count / 50), count); seed++)
    try {
      await attempt(randomOf(seed), seed)
    } catch (error) {
      throw new Error(`seed ${seed}: ${(error as Error).stack?.slice(0, 1_500)}`)
    }
}

function expectFhir({ status, body, text }: TestResponse): void {
  if (status >= 500 || body === undefined) throw new Error(`${status} ${text.slice(0, 500)}`)
}

it('mutated resources are validated and written without a 500', async () => {
  const statuses = new Set<number>()
  await each(6_000, async (random, seed) => {
    const resource = mutateTree(random.pick(US_CORE_EXAMPLES), random)
    const { resourceType } = random.pick(US_CORE_EXAMPLES)
    const type = typeof resource.resourceType === 'string' && random.below(9) > 0 ? resource.resourceType : resourceType
    const id = `f${random.below(50)}`
    const path = `/${encodeURIComponent(type)}`
    const answer = seed % 2 === 0 ? await post(`${path}/$validate`, resource) : await put(`${path}/${id}`, { ...resource, id })
    expectFhir(answer)
    statuses.add(answer.status)
  })
  // Not all of it is refused, nor taken.
  expect([...statuses]).toEqual(expect.arrayContaining([200, 201, 400]))
})

// biome-ignore format: a table
const ELEMENTS: readonly ProfileElement[] = [
  { id: 'Patient', constraint: [{ key: 'own-1', severity: 'error', human: 'Said', expression: 'name.exists() or gender.exists()' }] },
  { id: 'Patient.identifier', min: 1, slicing: { discriminator: [{ type: 'value', path: 'system' }, { type: 'exists', path: 'value' }], rules: 'closed', ordered: true } },
  { id: 'Patient.identifier:a', max: '1' }, { id: 'Patient.identifier:a.system', fixedUri: 's' }, { id: 'Patient.identifier:a.value', min: 1 },
  { id: 'Patient.identifier:b', type: [{ code: 'Identifier', profile: ['http://example.org/other'] }] },
  { id: 'Patient.name', patternHumanName: { use: 'official', given: ['a'] } },
  { id: 'Patient.name.text', maxLength: 10, extension: [{ url: `${R4_CANONICAL_BASE}regex`, valueString: '[a-z]+' }] },
  { id: 'Patient.birthDate', maxValueDate: '2020-01-01' },
  { id: 'Patient.maritalStatus', binding: { strength: 'required', valueSet: 'http://example.org/set' } },
  { id: 'Patient.generalPractitioner', type: [{ code: 'Reference', targetProfile: [`${R4_CANONICAL_BASE}Practitioner`, PROFILE_URL] }], slicing: { discriminator: [{ type: 'profile', path: 'resolve()' }], rules: 'open' } },
  { id: 'Patient.generalPractitioner:p', type: [{ code: 'Reference', targetProfile: [PROFILE_URL] }] },
  { id: 'Patient.extension', slicing: { discriminator: [{ type: 'value', path: 'url' }], rules: 'open' } },
  { id: 'Patient.extension:e', min: 1, type: [{ code: 'Extension', profile: ['http://example.org/extension'] }] },
  { id: 'Patient.deceased[x]', type: [{ code: 'boolean' }] },
]
const DEFINITIONS: readonly Resource[] = [
  profile(ELEMENTS, 'differential'),
  profile([{ id: 'Identifier.value', min: 1 }], 'snapshot', 'http://example.org/other'),
  { ...profile([{ id: 'Extension.value[x]', type: [{ code: 'string' }] }], 'differential', 'http://example.org/extension'), context: [{ type: 'element', expression: 'Patient' }] },
  { resourceType: 'ValueSet', url: 'http://example.org/set', status: 'active', compose: { include: [{ system: 's', filter: [{ property: 'concept', op: 'is-a', value: 'a' }] }, { system: 't', concept: [{ code: 'x' }] }, { valueSet: ['http://example.org/set2'] }], exclude: [{ system: 't' }] } },
  { resourceType: 'ValueSet', url: 'http://example.org/set2', status: 'active', expansion: { contains: [{ system: 's', code: 'x', contains: [{ system: 's', code: 'y' }] }] } },
  { resourceType: 'CodeSystem', url: 's', status: 'active', content: 'complete', concept: [{ code: 'a', concept: [{ code: 'x', concept: [{ code: 'y' }] }] }] },
] // biome-ignore format: a table
const PATIENT: Resource = {
  resourceType: 'Patient',
  id: 'f',
  meta: { profile: [PROFILE_URL] },
  identifier: [{ system: 's', value: '1' }, { system: 'u' }],
  name: [{ use: 'official', given: ['a', 'b'], text: 'abc' }],
  birthDate: '2019-01-01',
  maritalStatus: { coding: [{ system: 's', code: 'y' }] },
  contained: [{ resourceType: 'Patient', id: 'c', identifier: [{ system: 's' }] }],
  generalPractitioner: [{ reference: '#c' }, { reference: 'Practitioner/1' }],
  extension: [{ url: 'http://example.org/extension', valueString: 'x' }],
}

it('mutated definitions of packages cause at most 101 issues', async () => {
  await each(6_000, async (random) => {
    const definitions = DEFINITIONS.map((each) => (random.below(2) === 0 ? mutateTree(each, random) : each))
    const { content } = buildPackage({ name: 'own', version: '1' }, definitions, () => false)
    const conformance = conformanceWithR4(content)
    const find = profileChecker({ conformance: async () => conformance, expressions: PASSING_RUNNER, clock: FIXED_CLOCK })
    const resource = random.below(2) === 0 ? PATIENT : mutateTree(PATIENT, random)
    const { issues } = await find({ ...resource, resourceType: 'Patient' }, [PROFILE_URL, 'http://example.org/other'], { tenant: 'one' })
    expect(issues.length).toBeLessThanOrEqual(101)
  })
})

it('mutated definitions are written and used without a 500', async () => {
  await each(2_000, async (random) => {
    const definition = mutateTree(random.pick(DEFINITIONS), random)
    expectFhir(await put(`/${definition.resourceType}/d`, { status: 'active', name: 'D', abstract: false, ...definition, id: 'd' }))
    expectFhir(await post('/Patient/$validate', PATIENT))
  })
})

it('mutated archives are read or rejected with ArchiveError', async () => {
  const files = { ...guideFilesOf('1.0.0') }
  const names = Object.keys(files)
  await each(3_000, async (random) => {
    const changed = Object.fromEntries(
      names.map((name) => [random.below(4) === 0 ? mutateText(name, random) : name, random.below(3) === 0 ? mutateTree(files[name] as object, random) : files[name]]),
    ) // biome-ignore format: names and files
    const archive = await packArchive(changed).catch(() => undefined)
    if (archive === undefined) return
    const sent = random.below(2) === 0 ? archive : mutateBytes(archive, random)
    const taken: Resource[] = []
    try {
      await readArchive(Readable.from([sent]), (file) => taken.push(file as Resource))
    } catch (error) {
      if (!(error instanceof ArchiveError)) throw error
    }
    buildPackage({ name: 'own', version: '1' }, taken, () => false)
  })
})

it('random expressions are evaluated without a 500', async () => {
  const apply = (expression: string): Promise<TestResponse> =>
    post('/$apply-fhirpath', {
      resourceType: 'Parameters',
      parameter: [
        { name: 'fhirPath', valueString: expression },
        { name: 'resource', resource: PATIENT },
      ],
    })
  for (const expression of isFullRun ? EXPENSIVE_EXPRESSIONS : EXPENSIVE_EXPRESSIONS.slice(0, 2)) expectFhir(await apply(expression))
  await each(3_000, async (random) => expectFhir(await apply(randomExpressionOf(random))))
  expect((await get('/metadata')).status).toBe(200)
})
