/** Expressions as published guides write them: extensions that stand for their values, and JSON names of choices. */
import { describe, expect, it, jest } from '@jest/globals'
import { R4 } from '../../../lambdas/fhir/definitions/r4.ts'
import { checkDefinition, customMappingsOf, findEmptyOperands } from '../../../lambdas/search/custom/custom-parameters.ts'
import { choiceNamesIn, unionOperandsOf } from '../../../lambdas/search/custom/definition-expression.ts'
import { extract } from '../../../lambdas/search/documents/extract.ts'
import { matchesPredicate } from '../../../lambdas/search/evaluate.ts'
import { parseParameterPairs } from '../../../lambdas/search/query/parameter-pairs.ts'
import { parseSearch } from '../../../lambdas/search/query/query.ts'
import { EXPRESSIONS } from '../../fixtures/expressions.ts'
import type { Tree } from '../../fixtures/resources.ts'
import { resourceKeyOf, versionOf, writeOf } from '../../fixtures/versions.ts'

const PLAN_NET = 'http://hl7.org/fhir/us/davinci-pdex-plan-net/StructureDefinition'

const definition = (code: string, type: string, base: readonly string[], expression: string, more: object = {}): Tree => ({
  ...{ resourceType: 'SearchParameter', id: code, url: `urn:${code}`, name: 'own', status: 'active', description: 'x' },
  ...{ code, type, base, expression, ...more },
})

const NETWORK = definition(
  'network',
  'reference',
  ['PractitionerRole'],
  `PractitionerRole.extension.where(url='${PLAN_NET}/network-reference')`,
)
const COVERED = definition('coverage-area', 'reference', ['Organization'], `Organization.extension('${PLAN_NET}/org-coverage')`)
const SERVICE = definition(
  'service-start-date',
  'date',
  ['ExplanationOfBenefit'],
  'ExplanationOfBenefit.billablePeriod.start | ExplanationOfBenefit.item.servicedDate | ExplanationOfBenefit.item.servicedPeriod.start',
)

/** Whether the search finds the resource by the definition. */
function finds(parameter: Tree, resource: Tree, query: string): boolean {
  const reading = { baseUrl: 'http://a.example/fhir', custom: customMappingsOf(parameter, 't') }
  const { where } = parseSearch(resource.resourceType, parseParameterPairs(query), { ...reading, handling: 'strict' })
  const key = resourceKeyOf('t', resource.resourceType, resource.id)
  const document = extract(versionOf(writeOf(key, { body: resource })), resource, reading, (code, error) => {
    throw new Error(`${code}: ${(error as Error).message}`)
  })
  return where.every((each) => matchesPredicate(each as Parameters<typeof matchesPredicate>[0], document))
}

const role = (value: object): Tree => ({
  resourceType: 'PractitionerRole',
  id: 'r',
  extension: [{ url: `${PLAN_NET}/network-reference`, ...value }],
})
const claim = (more: object): Tree => ({ resourceType: 'ExplanationOfBenefit', id: 'e', ...more })

describe('A definition that ends at an extension', () => {
  it('finds a reference by the value of the extension', () => {
    const resource = role({ valueReference: { reference: 'Organization/n' } })
    const found = ['network=Organization/n', 'network=n', 'network:missing=false', 'network=Organization/other'].map((query) =>
      finds(NETWORK, resource, query),
    )
    expect(found).toEqual([true, true, true, false])
    const organization = {
      resourceType: 'Organization',
      id: 'o',
      extension: [{ url: `${PLAN_NET}/org-coverage`, valueReference: { reference: 'Location/l' } }],
    }
    expect(finds(COVERED, organization, 'coverage-area=Location/l')).toBe(true)
  })

  it('looks only at values that its type can have', () => {
    expect(finds(NETWORK, role({ valueString: 'Organization/n' }), 'network:missing=true')).toBe(true)
    expect(finds(NETWORK, role({ extension: [{ url: 'part', valueString: 'x' }] }), 'network:missing=true')).toBe(true)
  })

  it.each<[type: string, value: object, query: string]>([
    ['token', { valueCoding: { system: 's', code: 'c' } }, 'own=s|c'],
    ['token', { valueCodeableConcept: { coding: [{ code: 'c' }] } }, 'own=c'],
    ['token', { valueBoolean: true }, 'own=true'],
    ['string', { valueString: 'Some text' }, 'own=some'],
    ['date', { valuePeriod: { start: '2020-01-01' } }, 'own=ge2020'],
    ['number', { valueDecimal: 1.5 }, 'own=1.5'],
    ['quantity', { valueQuantity: { value: 5, code: 'mg', system: 's' } }, 'own=5|s|mg'],
    ['uri', { valueCanonical: 'http://x.y/z' }, 'own=http://x.y/z'],
  ])('works for the type %s: %j', (type, value, query) => {
    const own = definition('own', type, ['Patient'], "Patient.extension('urn:e') | Patient.contact.extension('urn:e')")
    expect(finds(own, { resourceType: 'Patient', id: 'p', extension: [{ url: 'urn:e', ...value }] }, query)).toBe(true)
    expect(finds(own, { resourceType: 'Patient', id: 'p', contact: [{ extension: [{ url: 'urn:e', ...value }] }] }, query)).toBe(true)
    expect(finds(own, { resourceType: 'Patient', id: 'p', extension: [{ url: 'urn:other', ...value }] }, query)).toBe(false)
  })

  it('works as a component of a composite', () => {
    const own = definition('pair', 'composite', ['PractitionerRole'], 'PractitionerRole', {
      component: [
        {
          definition: 'http://hl7.org/fhir/SearchParameter/PractitionerRole-organization',
          expression: `extension('${PLAN_NET}/network-reference')`,
        },
        { definition: 'http://hl7.org/fhir/SearchParameter/PractitionerRole-active', expression: 'active' },
      ],
    })
    const resource = { ...role({ valueReference: { reference: 'Organization/n' } }), active: true }
    expect(finds(own, resource, 'pair=Organization/n$true')).toBe(true)
    expect(finds(own, resource, 'pair=Organization/n$false')).toBe(false)
  })

  it('has fields of its own, so that documents of an earlier meaning are made again', () => {
    const fields = ['Patient.name.given', "Patient.extension('urn:e')", "Patient.extension('urn:e').value"].map(
      (expression) => customMappingsOf(definition('own', 'string', ['Patient'], expression), 't')[0]!.field,
    )
    expect(new Set(fields).size).toBe(3)
  })
})

describe('A definition with JSON names of choices', () => {
  it('finds resources by each branch', () => {
    const queries = ['service-start-date=2020-01-02', 'service-start-date=2020-01-03']
    const resources = [
      claim({ billablePeriod: { start: '2020-01-02' } }),
      claim({ item: [{ sequence: 1, servicedDate: '2020-01-02' }] }),
      claim({ item: [{ sequence: 1, servicedPeriod: { start: '2020-01-02', end: '2020-02-01' } }] }),
    ]
    for (const resource of resources) expect(queries.map((query) => finds(SERVICE, resource, query))).toEqual([true, false])
  })

  it.each<[string, readonly string[]]>([
    ['item.servicedPeriod.start', ['servicedPeriod']],
    ["where(name = 'servicedDate') | `valueQuantity`", []],
    ['Observation.valueQuantity', ['valueQuantity']],
    ['Patient.birthDate', []],
  ])('has the choices of %s: %j', (expression, expected) => expect(choiceNamesIn(expression)).toEqual(expected))

  it('finds a choice by a name that another type has as an element of its own', () => {
    const own = definition('own', 'quantity', ['Observation'], 'Observation.valueQuantity')
    const resource = {
      resourceType: 'Observation',
      id: 'o',
      status: 'final',
      code: { text: 'x' },
      valueQuantity: { value: 5, code: 'mg', system: 's' },
    }
    expect(finds(own, resource, 'own=5|s|mg')).toBe(true)
    const composite = definition('pair', 'composite', ['Observation'], 'Observation', {
      component: [
        { definition: 'http://hl7.org/fhir/SearchParameter/Observation-value-quantity', expression: 'valueQuantity' },
        { definition: 'http://hl7.org/fhir/SearchParameter/Observation-status', expression: 'status' },
      ],
    })
    expect(finds(composite, resource, 'pair=5|s|mg$final')).toBe(true)
  })

  it('is refused with the reason where its expression is not compiled', async () => {
    const own = definition('own', 'date', ['ExplanationOfBenefit'], 'ExplanationOfBenefit.item.servicedDate.repeat($this)')
    await expect(checkDefinition(own, { tenant: 't', id: 'own', expressions: EXPRESSIONS, registered: async () => [] })).rejects.toThrow(
      'servicedDate is a name of JSON',
    )
  })
})

describe('A union', () => {
  it.each([
    ['a', ['a']],
    ["a | b.where(c | d) | 'x|y' | `p|q`", ['a', 'b.where(c | d)', "'x|y'", '`p|q`']],
    ['(a | b)', ['(a | b)']],
  ])('%s has the operands %j', (expression, expected) => expect(unionOperandsOf(expression)).toEqual(expected))

  it('reports operands that have no values on any base', () => {
    const own = (expression: string, ...base: readonly string[]) => findEmptyOperands(definition('own', 'date', base, expression))
    expect(own('Patient.birthDate | Patient.born | Person.birthDate', 'Patient', 'Person')).toEqual(['Patient.born'])
    expect(own('Patient.born', 'Patient')).toEqual([])
    expect(findEmptyOperands(SERVICE)).toEqual([])
  })
})

it('collects the names of choices once, however many words expressions have', () => {
  const collected = jest.spyOn(Object, 'values')
  choiceNamesIn('Patient.deceased.extension | Claim.item.servicedDate')
  const count = collected.mock.calls.filter(([of]) => of === R4.shapes).length
  collected.mockRestore()
  expect(count).toBeLessThanOrEqual(1)
})
