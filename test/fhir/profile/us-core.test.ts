/** US Core 6.1.0: its own examples conform, and a fault in them is reported at its path. https://hl7.org/fhir/us/core/STU6.1/ */
import { describe, expect, it } from '@jest/globals'
import type { Resource } from '../../../lambdas/fhir/resource.ts'
import { checkProfiles, copyExample, findIssueTexts, profilesOf, US_CORE, US_CORE_EXAMPLES } from '../../fixtures/us-core/findings.ts'

describe('the examples of US Core', () => {
  it('are 183, and name its profiles 174 times', () => {
    const named = US_CORE_EXAMPLES.flatMap(profilesOf).filter((url) => url.startsWith(US_CORE))
    expect([US_CORE_EXAMPLES.length, named.length]).toEqual([183, 174])
  })

  it('conform to all profiles they name', async () => {
    const differing: string[] = []
    for (const resource of US_CORE_EXAMPLES)
      for (const text of await findIssueTexts(resource, 'error')) differing.push(`${resource.id} ${text}`)
    expect(differing).toEqual([])
  })

  it('name only one profile that is not loaded, and that is none of US Core', async () => {
    const missing = new Set<string>()
    for (const resource of US_CORE_EXAMPLES)
      for (const url of (await checkProfiles(resource, profilesOf(resource))).missing) missing.add(url)
    expect([...missing]).toEqual(['http://hl7.org/fhir/uv/sdc/StructureDefinition/sdc-questionnaire'])
  })
})

// biome-ignore lint/suspicious/noExplicitAny: what a test changes has any shape
type Tree = Record<string, any>
type Change = (resource: Tree) => void

/** Example, profile, change, and the expected finding. */
const FAULTS: readonly (readonly [string, string, Change, string])[] = [
  ['Observation/serum-sodium', 'us-core-observation-lab', (o) => delete o.category, 'Observation category is required'],
  ['Observation/serum-sodium', 'us-core-observation-lab', (o) => (o.category[0].coding[0].code = 'exam'), 'Observation.category category:us-core is required'],
  ['Observation/serum-sodium', 'us-core-observation-lab', (o) => o.category.push(o.category[0]), 'Observation.category There may be at most 1 category:us-core'],
  ['Observation/serum-sodium', 'us-core-observation-lab', (o) => delete o.valueQuantity, 'Observation If there is no component or hasMember element then either a value[x] or a data absent reason must be present (us-core-2'],
  ['Observation/serum-sodium', 'us-core-observation-lab', (o) => (o.subject.reference = 'Group/1'), 'Observation.subject A reference to Group is not allowed here, only to Patient'],
  ['Observation/serum-sodium', 'us-core-observation-lab', (o) => delete o.subject, 'Observation subject is required'],
  ['Observation/serum-sodium', 'us-core-observation-lab', (o) => (o.effectiveDateTime = '2024'), 'Observation.effective Datetime must be at least to day. (us-core-1'],
  ['Observation/serum-sodium', 'us-core-observation-lab', (o) => (o.specimen = { reference: 'Patient/1' }), 'Observation.specimen A reference to Patient is not allowed here, only to Specimen'],
  ['Procedure/rehab', 'us-core-procedure', (p) => delete p.code, 'Procedure code is required'],
  ['Procedure/rehab', 'us-core-procedure', (p) => delete p.performedPeriod && delete p.performedDateTime, 'Procedure Performed SHALL be present if the status is \'completed\' or \'in-progress\' (us-core-7'],
  ['Procedure/rehab', 'us-core-procedure', (p) => (p.subject.reference = 'Group/1'), 'Procedure.subject A reference to Group is not allowed here, only to Patient'],
  ['Patient/example', 'us-core-patient', (p) => delete p.gender, 'Patient gender is required'],
  ['Patient/example', 'us-core-patient', (p) => delete p.identifier, 'Patient identifier is required'],
  ['Patient/example', 'us-core-patient', (p) => delete p.identifier[0].system, 'Patient.identifier[0] system is required'],
  ['Patient/example', 'us-core-patient', (p) => delete p.name, 'Patient name is required'],
  ['Patient/example', 'us-core-patient', (p) => (p.name = [{ text: 'x' }]), 'Extension is present. (us-core-6'],
  ['Patient/example', 'us-core-patient', (p) => p.extension.push(p.extension[0]), 'Patient.extension There may be at most 1 extension:race'],
  ['Patient/example', 'us-core-patient', (p) => (p.extension[0].extension = p.extension[0].extension.filter((e: Tree) => e.url !== 'text')), 'Patient.extension[0].extension extension:text is required'],
  ['Patient/example', 'us-core-patient', (p) => p.extension[0].extension.push({ url: 'unheard', valueString: 'x' }), 'The extension has only these parts: ombCategory, detailed, text'],
  ['Patient/example', 'us-core-patient', (p) => (p.extension[0].extension[0].valueCoding = undefined), 'value is required'],
  ['Patient/example', 'us-core-patient', (p) => (p.contact = [{ name: { text: 'x' }, extension: [p.extension[0]] }]), 'Patient.contact[0].extension[0] This extension may stand only on Patient, RelatedPerson, Person, Practitioner, FamilyMemberHistory'],
  ['Patient/example', 'us-core-patient', (p) => (p.modifierExtension = [p.extension[0]]), 'Patient.modifierExtension[0] This extension must stand in extension'],
  ['Observation/blood-pressure', 'us-core-blood-pressure', (o) => o.component.pop(), 'Observation.component component:diastolic is required'],
  ['Observation/blood-pressure', 'us-core-blood-pressure', (o) => (o.component[0].valueQuantity.code = 'mm'), 'Observation.component[0].value.code code must be mm[Hg]'],
  ['Observation/blood-pressure', 'us-core-blood-pressure', (o) => delete o.component[0].valueQuantity.unit, 'Observation.component[0].value unit is required'],
  ['Observation/blood-pressure', 'us-core-blood-pressure', (o) => (o.code.coding = [{ system: 'http://loinc.org', code: '1' }]), 'Observation.code code must have'],
  ['Observation/blood-pressure', 'us-core-blood-pressure', (o) => { o.component[0].valueString = 'x'; delete o.component[0].valueQuantity }, 'Observation.component[0].value value must be of the type Quantity'],
  ['Condition/condition-duodenal-ulcer', 'us-core-condition-problems-health-concerns', (c) => delete c.category, 'Condition category is required'],
  ['Encounter/example-1', 'us-core-encounter', (e) => delete e.type, 'Encounter type is required'],
] // biome-ignore format: a table

describe('an example with one fault', () => {
  it.each(FAULTS)('gives one finding about it: %s as %s (%#)', async (id, profile, change, expected) => {
    const resource: Tree = copyExample(id)
    expect(await findIssueTexts(resource as Resource, 'error', [`${US_CORE}${profile}`])).toEqual([])
    change(resource)
    const texts = await findIssueTexts(JSON.parse(JSON.stringify(resource)), 'error', [`${US_CORE}${profile}`])
    expect(texts.filter((text) => text.includes(expected))).toHaveLength(1)
  })
})

it('a resource of another type than its profile gives an error', async () => {
  expect(await findIssueTexts(copyExample('Patient/example'), 'error', [`${US_CORE}us-core-procedure`])).toEqual([
    `Patient The profile is about Procedure, and this is a Patient (${US_CORE}us-core-procedure|6.1.0)`,
  ])
})
