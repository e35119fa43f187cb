/** Unknown elements, types and slices in a profile are reported, and known ones are not. */
import { describe, expect, it } from '@jest/globals'
import type { Profile } from '../../../lambdas/fhir/profile/definition.ts'
import { findUnknownNames } from '../../../lambdas/fhir/profile/definitions/unknown-names.ts'
import type { Resource } from '../../../lambdas/fhir/resource.ts'

const of = (type: string, elements: readonly object[], more: object = {}): Resource =>
  ({
    resourceType: 'StructureDefinition', url: 'http://example.org/p', type, derivation: 'constraint',
    baseDefinition: `http://hl7.org/fhir/StructureDefinition/${type}`, differential: { element: elements }, ...more,
  }) as Resource // biome-ignore format: one resource
const told = (definition: Resource, base?: Profile) =>
  findUnknownNames(definition, base).map(({ expression, text }) => `${expression}: ${text}`)

describe('A name in a profile', () => {
  it('is reported with its path if R4 has no such element', () => {
    const paths = [
      'Patient',
      'Patient.nope',
      'Patient.name.given.nope',
      'Patient.deceased',
      'Patient.contact.name.families',
      'Patient.constructor',
    ]
    const found = told(
      of(
        'Patient',
        paths.map((path) => ({ path })),
      ),
    )
    expect(found.map((each) => each.split(':')[0])).toEqual([1, 2, 3, 4, 5].map((i) => `StructureDefinition.differential.element[${i}]`))
    expect(found[0]).toContain('R4 has no element Patient.nope')
    const snapshot = { snapshot: { element: [{ path: 'Patient' }, { path: 'Patient.no' }] } }
    expect(told(of('Patient', [{ path: 'Patient.nope' }], snapshot))).toHaveLength(1)
    expect(
      told(
        of(
          'Patient',
          Array.from({ length: 30 }, (_, i) => ({ path: `Patient.a${i}` })),
        ),
      ),
    ).toHaveLength(21)
  })

  it('is not reported if R4 has the element, in any form', () => {
    const paths = [
      'Observation', 'Observation.value[x]', 'Observation.valueQuantity', 'Observation.value[x].code', 'Observation.valueQuantity.value',
      'Observation.component.value[x].coding.display', 'Observation.extension.value[x].extension', 'Observation.status.extension.url',
      'Observation.contained.name', 'Observation.text.div', 'Observation.id', 'Observation.effective[x].start.value', 'Observation.subject.reference.id',
    ] // biome-ignore format: a list
    expect(
      told(
        of(
          'Observation',
          paths.map((path) => ({ path, type: [{ code: 'http://hl7.org/fhirpath/System.String' }, { code: 'Resource' }] })),
        ),
      ),
    ).toEqual([])
    expect(told(of('Questionnaire', [{ path: 'Questionnaire.item.item.item.answerOption.value[x].code' }]))).toEqual([])
    expect(told(of('Bundle', [{ path: 'Bundle.entry.resource.whatever.there' }]))).toEqual([])
    expect(told(of('Extension', [{ path: 'Extension.extension.extension.value[x]', type: [{ code: 'code' }] }]))).toEqual([])
  })

  it('may nest choices deeply, because each type is visited once', () => {
    const path = `Extension${'.value[x].extension'.repeat(31)}`
    expect(told(of('Extension', [{ path }, { path: `${path}.nope` }])).map((each) => each.slice(0, 46))).toEqual([
      'StructureDefinition.differential.element[1]: R',
    ])
  })

  it('is reported if R4 has no such type', () => {
    expect(told(of('Patient', [{ path: 'Patient.name', type: [{ code: 'Foo' }, { code: 'HumanName' }] }]))).toEqual([
      'StructureDefinition.differential.element[0]: R4 has no type Foo: nothing is of it',
    ])
  })

  it('is reported for a slice without slicing, unless a base profile may have it', () => {
    const slice = { path: 'Patient.identifier', sliceName: 'a', min: 1 }
    const profiled = { baseDefinition: 'http://example.org/base' }
    expect(told(of('Patient', [slice]))[0]).toContain('Nothing says what tells slices of Patient.identifier apart')
    expect(told(of('Patient', [{ path: 'Patient.identifier', slicing: {} }, slice]))).toEqual([])
    for (const path of ['Patient.extension', 'Patient.contact.modifierExtension', 'Patient.deceased[x]'])
      expect(told(of('Patient', [{ path, sliceName: 'a' }]))).toEqual([])
    expect(told(of('Observation', [{ path: 'Observation.valueQuantity', sliceName: 'valueQuantity' }]))).toEqual([])
    expect(told(of('Patient', [slice], profiled))).toEqual([])
    const base: Profile = { url: '', type: 'Patient', isWhole: true, elements: [{ id: 'Patient.name:x.given' }] }
    expect(told(of('Patient', [slice], profiled), base)).toHaveLength(1)
    const slicing = { discriminators: [], rules: 'open' } as const
    expect(told(of('Patient', [slice], profiled), { ...base, elements: [{ id: 'Patient.identifier', slicing }] })).toEqual([])
  })
})
