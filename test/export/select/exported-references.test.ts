/** Resources that an export includes because an exported resource refers to them. Specification 2.8, 4.5 rule 1. */
import { describe, expect, it } from '@jest/globals'
import {
  type AdditionalResources,
  DEFAULT_ADDITIONAL_RESOURCES,
  parseAdditionalResources,
} from '../../../lambdas/export/additional-resources.ts'
import type { ExportLevel } from '../../../lambdas/export/export-request.ts'
import { referenceFinder } from '../../../lambdas/export/select/exported-references.ts'
import { readData } from '../../fixtures/count-synthea.ts'
import { observation, referenceTo, type Tree } from '../../fixtures/resources.ts'
import { resourceKeyOf, versionOf, writeOf } from '../../fixtures/versions.ts'

const BASE = 'http://a.example/fhir'
const version = (resource: Tree) => versionOf(writeOf(resourceKeyOf('t', resource.resourceType, resource.id), { body: resource }))

const found = (
  resource: Tree,
  level: ExportLevel = 'group',
  rules: AdditionalResources = DEFAULT_ADDITIONAL_RESOURCES,
): readonly string[] => [...new Set(referenceFinder(level, rules, { baseUrl: BASE })(version(resource)))]
const ruled = (path: string, ...resourceTypes: readonly string[]): AdditionalResources => ({
  Observation: [{ allowedForGroupExport: true, allowedForPatientExport: true, path, resourceTypes }],
})

const encounter = {
  resourceType: 'Encounter',
  id: 'e',
  subject: referenceTo('Patient/1'),
  serviceProvider: referenceTo(`${BASE}/Organization/1`),
  participant: [
    { individual: referenceTo('Practitioner/1/_history/2') },
    { individual: referenceTo('PractitionerRole/1') },
    { individual: referenceTo('http://b/Practitioner/9') },
  ],
  location: [{ location: referenceTo('Location/1') }, { location: referenceTo('#contained') }],
}

describe('References of an exported resource', () => {
  it('add four types in exports of groups by default, and none in exports of patients', () => {
    const patients = ['Patient/1']
    expect(found(encounter)).toEqual([...patients, 'Location/1', 'Practitioner/1', 'Organization/1'])
    expect(found(encounter, 'patient')).toEqual(patients)
    expect(found(encounter, 'system')).toEqual([])
  })

  it('include Patients in any element, and no text that only looks like one', () => {
    const narrative = { status: 'generated', div: '<div>{"reference":"Patient/9"} Patient/9</div>' }
    const fields = { text: narrative, note: [{ text: '\\"reference":"Patient/9"' }], valueString: 'Patient/9' }
    const contained = [{ resourceType: 'Specimen', id: 's', subject: referenceTo(`${BASE}/Patient/4/_history/1`) }]
    const performer = [
      referenceTo('Patient/2'),
      referenceTo('http://b.example/fhir/Patient/9'),
      referenceTo('#Patient/9'),
      referenceTo('Patient/?identifier=9'),
    ]
    const extension = [{ url: 'http://e/Patient/9', valueReference: { display: 'd', reference: 'Patient/3' } }]
    expect(found(observation('o', { subject: 'Patient/1', ...fields, contained, performer, extension }), 'patient', {})).toEqual([
      ...['Patient/1', 'Patient/4', 'Patient/2', 'Patient/3'],
    ])
  })

  it('are none for a deletion', () => {
    expect(referenceFinder('group', DEFAULT_ADDITIONAL_RESOURCES, { baseUrl: BASE })({ ...version(encounter), deleted: true })).toEqual([])
  })

  it.each<[string, string, readonly string[]]>([
    ['texts', '$.performer[*].reference', ['Organization/1', 'Organization/2']],
    ['References', '$.performer[*]', ['Organization/1', 'Organization/2']],
    ['some of a list', '$.performer[1]', ['Organization/2']],
    ['a filter', "$.performer[?@.type=='Organization']", ['Organization/1']],
    ['descendants', '$..reference', ['Organization/1', 'Organization/2']],
    ['nothing', '$.nothing[*].reference', []],
    ['an element that is no reference', '$.status', []],
  ])('follow a configured path: %s', (_, path, expected) => {
    const performer = [
      { ...referenceTo('Organization/1'), type: 'Organization' },
      referenceTo('Organization/2'),
      referenceTo('Practitioner/1'),
    ]
    expect(found(observation('o', { performer }), 'patient', ruled(path, 'Organization'))).toEqual(expected)
  })

  it('are found without parsing a body that has no others of interest', () => {
    const one = version(observation('o', { subject: 'Patient/1', performer: [referenceTo('PractitionerRole/1')] }))
    const broken = { ...one, body: Buffer.concat([one.body, Buffer.from('{')]) }
    expect(referenceFinder('group', DEFAULT_ADDITIONAL_RESOURCES, { baseUrl: BASE })(broken)).toEqual(['Patient/1'])
  })

  it('equal those found by a walk through the JSON of real records', () => {
    const { all } = readData('test/fixtures/sample')
    const types = ['Medication', 'Location', 'Organization', 'Practitioner', 'Patient']
    const referred = (tree: Tree): readonly string[] =>
      typeof tree !== 'object' || tree === null
        ? []
        : Object.entries(tree).flatMap(([name, value]) => (name === 'reference' && typeof value === 'string' ? [value] : referred(value)))
    let compared = 0
    for (const resource of all.filter(({ resourceType }) => resourceType in DEFAULT_ADDITIONAL_RESOURCES)) {
      const expected = [...new Set(referred(resource))].filter((name) => types.includes(name.split('/')[0]!))
      expect([...found(resource)].sort()).toEqual(expected.sort())
      compared += expected.length
    }
    expect(compared).toBeGreaterThan(1_000)
  })
})

describe('The configuration of additional resources', () => {
  const rule = { allowedForGroupExport: true, allowedForPatientExport: false, path: '$.subject', resourceTypes: ['Patient'] }

  it('is accepted unchanged', () => {
    expect(parseAdditionalResources({ Observation: [rule], Patient: [] }, 's')).toEqual({ Observation: [rule], Patient: [] })
    expect(parseAdditionalResources(DEFAULT_ADDITIONAL_RESOURCES, 's')).toBe(DEFAULT_ADDITIONAL_RESOURCES)
  })

  it.each<[unknown, string]>([
    [[], 's must be a JSON object: rules by the type of the resource that refers'],
    ['{}', 's must be a JSON object: rules by the type of the resource that refers'],
    [{ Nothing: [] }, 's.Nothing is no resource type of R4'],
    [{ Patient: rule }, 's.Patient must be an array of rules'],
    [{ Patient: [rule, 1] }, 's.Patient[1] must be an object with allowedForGroupExport, allowedForPatientExport, path, resourceTypes'],
    [{ Patient: [{ ...rule, paths: '$' }] }, 's.Patient[0].paths is not known: a rule has'],
    [{ Patient: [{ ...rule, allowedForGroupExport: 'true' }] }, 's.Patient[0].allowedForGroupExport must be true or false'],
    [{ Patient: [{ ...rule, allowedForPatientExport: undefined }] }, 's.Patient[0].allowedForPatientExport must be true or false'],
    [{ Patient: [{ ...rule, path: 1 }] }, 's.Patient[0].path must be a JSONPath, as $.subject.reference'],
    [{ Patient: [{ ...rule, path: 'subject.reference' }] }, 's.Patient[0].path is no JSONPath: '],
    [{ Patient: [{ ...rule, path: '$.a[' }] }, 's.Patient[0].path is no JSONPath: '],
    [{ Patient: [{ ...rule, resourceTypes: [] }] }, 's.Patient[0].resourceTypes must be an array of resource types'],
    [{ Patient: [{ ...rule, resourceTypes: ['Patient', 'Nobody'] }] }, 's.Patient[0].resourceTypes[1] is no resource type of R4'],
  ])('%j is rejected with its location', (value, message) => {
    expect(() => parseAdditionalResources(value, 's')).toThrow(RangeError)
    expect(() => parseAdditionalResources(value, 's')).toThrow(message)
  })

  it('has default rules only for four types', () => {
    const rules = Object.values(DEFAULT_ADDITIONAL_RESOURCES).flat()
    expect([...new Set(rules.flatMap(({ resourceTypes }) => resourceTypes))].sort()).toEqual([
      'Location',
      'Medication',
      'Organization',
      'Practitioner',
    ])
    expect(rules.every((each) => each.allowedForGroupExport && !each.allowedForPatientExport)).toBe(true)
  })
})
