/** Versions of the definitions that a package refers to, while several versions of a guide are in one server. */
import { describe, expect, it } from '@jest/globals'
import type { Resource } from '../../lambdas/fhir/resource.ts'
import { profileChecker } from '../../lambdas/interactions/validation/profile-findings.ts'
import type { PackageStore } from '../../lambdas/ports/definitions/package-store.ts'
import { DEFAULT_TENANT } from '../../lambdas/ports/store/tenants.ts'
import { addPackage, openPackages } from '../../lambdas/runtime/control/package-commands.ts'
import { definitionsOf } from '../../lambdas/runtime/definitions.ts'
import { newFolder } from '../fixtures/at-end.ts'
import { packageLoader, writeArchiveFile } from '../fixtures/packages.ts'
import { FIXED_CLOCK, PASSING_RUNNER, type ProfileElement, profile } from '../fixtures/profiles/checking.ts'
import type { Tree } from '../fixtures/resources.ts'

const US_CORE = 'http://hl7.org/fhir/us/core'
const RACE = `${US_CORE}/StructureDefinition/us-core-race`
const CARIN_PATIENT = 'http://hl7.org/fhir/us/carin-bb/StructureDefinition/C4BB-Patient'

type Version = { readonly name: string; readonly version: string; readonly dependencies?: Readonly<Record<string, string>> }

const definition = (version: string, elements: readonly ProfileElement[], url: string, base?: string): Tree => ({
  ...profile(elements, 'differential', url, base),
  ...{ id: url.split('/').at(-1), version, status: 'active', fhirVersion: '4.0.1', derivation: 'constraint', abstract: false },
})

/** US Core's us-core-race, where 3.1.1 allows five categories and 7.0.0 six, and rules of this test for a patient. */
const usCore = (version: string, max: string, birthDate: number) => [
  definition(
    version,
    [
      { id: 'Extension.extension', slicing: { discriminator: [{ type: 'value', path: 'url' }], rules: 'open' } },
      { id: 'Extension.extension:ombCategory', max },
      { id: 'Extension.extension:ombCategory.url', fixedUri: 'ombCategory' },
    ],
    RACE,
  ),
  definition(version, [{ id: 'Patient.birthDate', min: birthDate }], `${US_CORE}/StructureDefinition/us-core-patient`),
  valueSet(version, version === '3.1.1' ? 'TX' : 'PR'),
]

const STATES = `${US_CORE}/ValueSet/us-core-usps-state`
const valueSet = (version: string, code: string): Tree => ({
  ...{ resourceType: 'ValueSet', id: 'states', url: STATES, version, status: 'active' },
  compose: { include: [{ system: 'https://www.usps.com/', concept: [{ code }] }] },
})

/** Parts of CARIN BB's C4BB-Patient that name definitions of US Core without a version. */
const carin = (version: string) => [
  definition(
    version,
    [
      { id: 'Patient.extension:race', type: [{ code: 'Extension', profile: [RACE] }] },
      { id: 'Patient.address.state', binding: { strength: 'required', valueSet: STATES } },
    ],
    CARIN_PATIENT,
    `${US_CORE}/StructureDefinition/us-core-patient`,
  ),
]

const patientOf = (state: string, categories: number): Tree => ({
  ...{ resourceType: 'Patient', meta: { profile: [CARIN_PATIENT] }, address: [{ state }] },
  extension: [
    { url: RACE, extension: Array.from({ length: categories }, () => ({ url: 'ombCategory', valueCoding: { code: '2106-3' } })) },
  ],
})

/** Returns a check of resources by a server with these packages, which returns the texts of errors. */
async function serverWith(...packages: readonly (readonly [Version, readonly Tree[]] | ((store: PackageStore) => Promise<void>))[]) {
  const data = newFolder()
  const administration = await openPackages(data, true)
  for (const each of packages) {
    if (typeof each === 'function') {
      await each(administration.store)
      continue
    }
    const [{ name, version, dependencies }, resources] = each
    const file = await writeArchiveFile({
      'package/package.json': { name, version, dependencies },
      ...Object.fromEntries(resources.map((one) => [`package/${one.resourceType}-${one.id}.json`, one])),
    })
    await addPackage(administration, { file })
  }
  await administration.close()
  const definitions = definitionsOf(administration.store)
  const check = profileChecker({ conformance: async () => definitions, expressions: PASSING_RUNNER, clock: FIXED_CLOCK })
  return async (resource: Tree, canonical = CARIN_PATIENT) => {
    const { issues, missing } = await check(resource as Resource, [canonical], { tenant: DEFAULT_TENANT })
    return [...missing, ...issues.filter(({ severity }) => severity === 'error').map(({ text }) => text)]
  }
}

const DERIVED = 'http://hl7.org/fhir/us/carin-bb/StructureDefinition/derived'

/** A profile and another one of the same package, from which it differs. */
const mine = (version: string, gender: number) => [
  definition(version, [{ id: 'Patient.gender', min: gender }], `${DERIVED}-base`),
  definition(version, [{ id: 'Patient.active', min: 0 }], DERIVED, `${DERIVED}-base`),
]

const usCore3 = [{ name: 'hl7.fhir.us.core', version: '3.1.1' }, usCore('3.1.1', '5', 1)] as const
const usCore7 = [{ name: 'hl7.fhir.us.core', version: '7.0.0' }, usCore('7.0.0', '6', 0)] as const
const carin2 = (dependencies: Readonly<Record<string, string>>) =>
  [{ name: 'hl7.fhir.us.carin-bb', version: '2.0.0', dependencies }, carin('2.0.0')] as const

const BIRTH_DATE = `birthDate is required (${CARIN_PATIENT}|2.0.0)`
const BY_7 = [`The code is not in the value set ${STATES} (${CARIN_PATIENT}|2.0.0)`]
const BY_3 = [
  BIRTH_DATE,
  `The code is not in the value set ${STATES}|3.1.1 (${CARIN_PATIENT}|2.0.0)`,
  `There may be at most 5 extension:ombCategory (${RACE}|3.1.1)`,
]

describe('A canonical URL without a version in a package', () => {
  it('means the version that the dependencies name: base, value set and extension', async () => {
    const check = await serverWith(usCore3, usCore7, carin2({ 'hl7.fhir.us.core': '3.1.1' }))
    expect(await check(patientOf('PR', 6))).toEqual(BY_3)
    expect(await check(patientOf('TX', 5))).toEqual([BIRTH_DATE])
  })

  it.each([{ 'hl7.fhir.us.core': '3.1.x' }, { 'hl7.fhir.us.core.v311': '3.1.1' }])('may be named by %j', async (dependencies) => {
    const check = await serverWith(usCore3, usCore7, carin2(dependencies))
    expect(await check(patientOf('PR', 6))).toEqual(BY_3)
  })

  it('means the newest version if the server lacks the named version', async () => {
    const check = await serverWith(usCore3, usCore7, carin2({ 'hl7.fhir.us.core': '5.0.1' }))
    expect(await check(patientOf('TX', 6))).toEqual(BY_7)
    expect(await check(patientOf('PR', 6))).toEqual([])
  })

  it('means the newest version if an earlier release added the package without its dependencies', async () => {
    const check = await serverWith(usCore3, usCore7, async (store) => void (await packageLoader(store)(carin('2.0.0') as Resource[])))
    expect(await check(patientOf('TX', 6))).toEqual(BY_7)
  })

  it('means the package itself before all others', async () => {
    const check = await serverWith(
      usCore7,
      carin2({}),
      [{ name: 'hl7.fhir.us.carin-bb', version: '1.1.0' }, mine('1.1.0', 1)],
      [{ name: 'hl7.fhir.us.carin-bb', version: '2.2.0' }, mine('2.2.0', 0)],
    )
    const patient = { resourceType: 'Patient' }
    expect(await check(patient, `${DERIVED}|1.1.0`)).toEqual([`gender is required (${DERIVED}|1.1.0)`])
    expect(await check(patient, `${DERIVED}|2.2.0`)).toEqual([])
  })
})
