/**
 * All guides of payers in one server: each example is valid against the profiles that it claims, in the version of its guide. An example
 * that is not valid is listed with the place of its fault.
 */
import { beforeAll, describe, expect, it } from '@jest/globals'
import { FhirError } from '../../lambdas/fhir/outcome.ts'
import type { Resource } from '../../lambdas/fhir/resource.ts'
import { type FullValidator, fullValidator } from '../../lambdas/interactions/validation/full-validation.ts'
import { profileStateOf } from '../../lambdas/interactions/validation/profile-findings.ts'
import { dependenciesOf, matchesRequest } from '../../lambdas/packages/package-labels.ts'
import type { Conformance } from '../../lambdas/ports/definitions/conformance.ts'
import type { PackageLabel } from '../../lambdas/ports/definitions/package-store.ts'
import { DEFAULT_TENANT } from '../../lambdas/ports/store/tenants.ts'
import { addPackage, openPackages } from '../../lambdas/runtime/control/package-commands.ts'
import { definitionsOf } from '../../lambdas/runtime/definitions.ts'
import type { SearchContext } from '../../lambdas/search/search-context.ts'
import { newFolder } from '../fixtures/at-end.ts'
import { EXPRESSIONS } from '../fixtures/expressions.ts'
import { type GuideArchive, guideArchiveFiles, noGuideArchives, readGuideArchive } from '../fixtures/payer/guide-archives.ts'
import { FIXED_CLOCK } from '../fixtures/profiles/checking.ts'
import type { Tree } from '../fixtures/resources.ts'

if (noGuideArchives !== undefined) process.stderr.write(`The examples of the guides are not validated: ${noGuideArchives}\n`)
const READING = { baseUrl: 'http://example.org/fhir' } as SearchContext
const describing = noGuideArchives === undefined ? describe : describe.skip

/** Examples with an error: why → guide, example and place. The name of the guide has no `hl7.fhir.us.`. */
const FAULTS: Readonly<Record<string, readonly string[]>> = {
  'The narrative has the entity &nbsp;, which XHTML in FHIR has not (txt-1)': [
    'carin-bb@2.0.0 ExplanationOfBenefit/EOBInpatient2 ExplanationOfBenefit.text.`div`',
    'carin-bb@2.0.0 ExplanationOfBenefit/EOBOutpatient2 ExplanationOfBenefit.text.`div`',
    'carin-bb@2.0.0 ExplanationOfBenefit/EOBProfessional1 ExplanationOfBenefit.text.`div`',
    'carin-bb@2.0.0 ExplanationOfBenefit/EOBProfessional2 ExplanationOfBenefit.text.`div`',
    'carin-bb@2.0.0 ExplanationOfBenefit/EOBProfessionalTransportation1 ExplanationOfBenefit.text.`div`',
  ],
  'The hash is not base64': ['core@3.1.1 DiagnosticReport/cardiology-report DiagnosticReport.presentedForm[0].hash'],
  'The unit L/min is not in ucum-vitals-common, to which oxygensat of R4 binds it as required': [
    'core@3.1.1 Observation/satO2-fiO2 Observation.component[0].value',
  ],
  'Its entries claim profiles without a version, so US Core 7.0.0 counts: the check digit of the NPI is wrong (us-core-17)': [
    'core@3.1.1 Bundle/66c8856b-ba11-4876-8aa8-467aad8c11a2 Bundle.entry[0].resource.practitioner',
    'core@3.1.1 Bundle/66c8856b-ba11-4876-8aa8-467aad8c11a2 Bundle.entry[1].resource.identifier[1]',
  ],
  'The guide depends on HRex 1.0.0, which is not among the archives: 1.2.0 requires relationship and a member id': [
    'davinci-pdex@2.0.0 Coverage/883210 Coverage',
    'davinci-pdex@2.0.0 Coverage/Coverage1 Coverage',
  ],
}

const ATR_SUBSCRIPTION = 'http://hl7.org/fhir/us/davinci-atr/StructureDefinition/atr-list-change-subscription'
const SUBSCRIPTION = 'http://hl7.org/fhir/uv/subscriptions-backport/StructureDefinition/backport-subscription'

/** Claimed profiles of guides that are not among the archives. */
const UNCHECKED: readonly string[] = [
  `The profile ${ATR_SUBSCRIPTION}|1.0.0 cannot be used: ${ATR_SUBSCRIPTION} differs from ${SUBSCRIPTION}, which is not loaded`,
  'The profile http://hl7.org/fhir/uv/sdc/StructureDefinition/sdc-questionnaire is not loaded',
]

const labelOf = ({ manifest }: GuideArchive): PackageLabel => ({ name: manifest.name, version: manifest.version })
const shown = ({ name, version }: PackageLabel): string => `${name.replace('hl7.fhir.us.', '')}@${version}`

describing(`the guides of payers${noGuideArchives === undefined ? '' : `: ${noGuideArchives}`}`, () => {
  let guides: readonly GuideArchive[]
  let definitions: Conformance
  let validate: FullValidator
  const damage: string[] = []
  beforeAll(async () => {
    const packages = await openPackages(newFolder(), true)
    const read: GuideArchive[] = []
    for (const file of guideArchiveFiles()) {
      read.push(await readGuideArchive(file))
      const { name, version } = labelOf(read.at(-1)!)
      // US Core 6.1.0 is built in.
      if (`${name}@${version}` !== 'hl7.fhir.us.core@6.1.0') await addPackage(packages, { file })
    }
    await packages.close()
    guides = read
    definitions = definitionsOf(packages.store, (text) => damage.push(text))
    const conformance = async () => definitions
    validate = fullValidator({ conformance, expressions: EXPRESSIONS, clock: FIXED_CLOCK, toldOfDefinition: async () => [] })
  })

  /** Returns the claimed profile in the version that the guide has or depends on. */
  function claimOf(guide: GuideArchive, canonical: string): string {
    if (canonical.includes('|')) return canonical
    const wanted = dependenciesOf(guide.manifest)
    const depended = guides.filter((each) => wanted.some((request) => matchesRequest(labelOf(each), request)))
    const found = [guide, ...depended].flatMap((each) => each.definitions.filter(({ url }) => url === canonical))
    return found.length === 0 ? canonical : `${canonical}|${found[0]!.version}`
  }

  /** Returns the claimed profiles, each to be checked alone. An example without one is checked against R4. */
  const claimsOf = (guide: GuideArchive, { meta }: Tree): readonly (readonly string[])[] =>
    ((meta?.profile ?? [[]]) as readonly (string | [])[]).map((claim) => (typeof claim === 'string' ? [claimOf(guide, claim)] : claim))

  const issuesOf = (resource: Tree, profiles: readonly string[]) =>
    validate(resource as Resource, { tenant: DEFAULT_TENANT, profiles, only: true, reading: READING })

  async function stateOf(canonical: string): Promise<string> {
    const state = await profileStateOf(canonical, definitions)
    return state.kind === 'unusable' ? state.reason : state.kind
  }

  it('are loaded whole', async () => {
    const unusable: string[] = []
    for (const guide of guides)
      for (const { resourceType, url, version, kind, status } of guide.definitions) {
        if (resourceType !== 'StructureDefinition' || kind === 'logical' || status === 'retired') continue
        const state = await stateOf(`${url}|${version}`)
        if (state !== 'loaded') unusable.push(`${shown(labelOf(guide))} ${url}: ${state}`)
      }
    expect(unusable).toEqual([])
    expect([guides.length, damage]).toEqual([13, []])
  })

  it('have valid examples', async () => {
    const faults = new Set<string>()
    const unchecked = new Set<string>()
    for (const guide of guides)
      for (const example of guide.examples)
        for (const profiles of claimsOf(guide, example)) {
          try {
            const issues = await issuesOf(example, profiles)
            for (const { severity, expression } of issues)
              if (severity === 'error') faults.add(`${shown(labelOf(guide))} ${example.resourceType}/${example.id} ${expression}`)
          } catch (error) {
            if (!(error instanceof FhirError)) throw error
            unchecked.add(error.issues[0]!.text)
          }
        }
    expect([...faults].toSorted()).toEqual(Object.values(FAULTS).flat().toSorted())
    expect([...unchecked].toSorted()).toEqual(UNCHECKED)
    expect(guides.reduce((sum, { examples }) => sum + examples.length, 0)).toBe(871)
  })

  it('find missing elements of an empty resource, each in its own version', async () => {
    const found = new Set<string>()
    for (const guide of guides)
      for (const { url, version, type, kind, abstract, derivation } of guide.definitions) {
        if (kind !== 'resource' || abstract || derivation !== 'constraint' || url.endsWith('atr-list-change-subscription')) continue
        const issues = await issuesOf({ resourceType: type }, [`${url}|${version}`])
        if (issues.some(({ severity, text }) => severity === 'error' && text.includes(`${url}|${version}`)))
          found.add(shown(labelOf(guide)))
      }
    expect([...found]).toEqual(guides.map((guide) => shown(labelOf(guide))))
  })
})
