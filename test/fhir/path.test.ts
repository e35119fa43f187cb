/** Compiled FHIRPath: the values of expressions, and the expressions that the compiler rejects. http://hl7.org/fhirpath/N1/ */
import { describe, expect, it } from '@jest/globals'
import { R4 } from '../../lambdas/fhir/definitions/r4.ts'
import { createCompiler } from '../../lambdas/fhir/path/compile.ts'
import { prepareTest, valuesOf } from '../../lambdas/fhir/path/steps.ts'
import { UnsupportedExpression } from '../../lambdas/fhir/path/tokens.ts'
import { TooCostly } from '../../lambdas/fhir/path/work-budget.ts'
import type { Resource } from '../../lambdas/fhir/resource.ts'

const patient: Resource = {
  resourceType: 'Patient',
  id: 'p',
  contained: [{ resourceType: 'Organization', id: 'org', name: 'Clinic' }],
  extension: [
    { url: 'http://x/a', valueString: 'A' },
    { url: 'http://x/b', valueDate: '2024' },
  ],
  active: true,
  name: [
    { use: 'official', family: 'Chalmers', given: ['Peter', 'James'], period: { start: '2020-01-01', end: '2021' } },
    { use: 'usual', given: ['Jim'] },
  ],
  _birthDate: { extension: [{ url: 'http://x/time', valueDateTime: '1974-12-25T14:35:45-05:00' }] },
  telecom: [
    { system: 'phone', value: '1', rank: 2 },
    { system: 'email', value: 'a@b' },
  ],
  multipleBirthInteger: 2,
  managingOrganization: { reference: '#org' },
  generalPractitioner: [
    { reference: 'Practitioner/1' },
    { reference: 'http://host/fhir/Organization/2/_history/3' },
    { reference: 'PractitionerRole?identifier=1' },
    { type: 'Practitioner', identifier: { value: 'x' } },
    { reference: 'urn:uuid:1' },
  ],
}

const observation: Resource = {
  resourceType: 'Observation',
  status: 'final',
  code: { coding: [{ system: 'http://loinc.org', code: '1' }] },
  valueQuantity: { value: '\u00001.10', unit: 'mg', comparator: '<' },
  component: [
    { code: { text: 'a' }, valueQuantity: { value: 5 } },
    { code: { text: 'b' }, valueString: 'x' },
  ],
}

const { branches, test } = createCompiler(R4)

const evaluate = (expression: string, resource: Resource): readonly string[] =>
  valuesOf(branches(expression, resource.resourceType), resource).map(({ type, value }) => `${type} ${JSON.stringify(value)}`)

/** expression → the values of `patient`, each with its type. */
const PATIENT: readonly (readonly [string, ...string[]])[] = [
  ['Patient.active', 'boolean true'],
  ['active', 'boolean true'],
  ['Resource.id', 'id "p"'],
  ['Observation.id'],
  ['Patient.nothing'],
  ['Patient.name.given', 'string "Peter"', 'string "James"', 'string "Jim"'],
  ['Patient.name[0].given', 'string "Peter"', 'string "James"'],
  ['Patient.name.given[1]', 'string "James"'],
  ['Patient.name.first().given.last()', 'string "James"'],
  ['Patient.name.given.tail()', 'string "James"', 'string "Jim"'],
  ['Patient.name.given.skip(1).take(1)', 'string "James"'],
  ['Patient.name.given.count()', 'integer 3'],
  ["Patient.name.where(use = 'usual').given", 'string "Jim"'],
  ["Patient.name.where(use = 'usual' or family.exists()).given.first()", 'string "Peter"'],
  ["Patient.telecom.where(system = 'phone' and rank > 1).value", 'string "1"'],
  ['Patient.name.select(given.first())', 'string "Peter"', 'string "Jim"'],
  ['Patient.multipleBirth', 'integer 2'],
  ['Patient.multipleBirth as integer', 'integer 2'],
  ['Patient.multipleBirth.ofType(boolean)'],
  ['(Patient.deceased as dateTime)'],
  ['Patient.deceased.exists() and Patient.deceased != false', 'boolean false'],
  ['Patient.multipleBirth.exists() and Patient.multipleBirth != false', 'boolean true'],
  ["Patient.extension('http://x/a').value.ofType(string)", 'string "A"'],
  ["Patient.extension.where(url = 'http://x/b').value", 'date "2024"'],
  ["Patient.birthDate.extension('http://x/time').value", 'dateTime "1974-12-25T14:35:45-05:00"'],
  ['Patient.birthDate'],
  ['Patient.birthDate.exists()', 'boolean true'],
  ['Patient.birthDate.hasValue()', 'boolean false'],
  ['Patient.contained.ofType(Organization).name', 'string "Clinic"'],
  ['Patient.contained.ofType(Patient)'],
  ['Patient.generalPractitioner.where(resolve() is Practitioner).reference', 'string "Practitioner/1"'],
  ['Patient.generalPractitioner.where(resolve() is Practitioner).identifier.value', 'string "x"'],
  ['Patient.generalPractitioner.where(resolve() is Organization).reference', 'string "http://host/fhir/Organization/2/_history/3"'],
  ['Patient.generalPractitioner.where(resolve() is PractitionerRole).reference', 'string "PractitionerRole?identifier=1"'],
  ['Patient.managingOrganization.where(resolve() is Organization).exists()', 'boolean true'],
  ['Patient.name.family | Patient.name.given', 'string "Chalmers"', 'string "Peter"', 'string "James"', 'string "Jim"'],
  ["Patient.name.exists(use = 'old')", 'boolean false'],
  ["Patient.name.all(given.exists() and use in ('official' | 'usual'))", 'boolean true'],
  ["Patient.name.given contains 'Jim'", 'boolean true'],
  ['Patient.name.use.isDistinct()', 'boolean true'],
  ["Patient.name.given.intersect('Jim' | 'Joe')", 'string "Jim"'],
  ["Patient.name.given.exclude('Jim' | 'James')", 'string "Peter"'],
  ["Patient.name.family.startsWith('Cha')", 'boolean true'],
  ["Patient.name.family.matches('^C.*s$') and family.exists().not()", 'boolean true'],
  ["Patient.name.family & '!'", 'string "Chalmers!"'],
  ['Patient.name.family.length() + 1', 'decimal 9'],
  ['7 div 2 * 2 - 1', 'decimal 5'],
  ['Patient.name.family.substring(2, 3).upper()', 'string "ALM"'],
  ["iif(Patient.active, 'yes', 'no')", 'string "yes"'],
  ['Patient.name.period.end >= Patient.name.period.start', 'boolean true'],
  ['{}'],
  ['Patient.name.first().family = {}'],
  ['Patient.descendants().where($this is Period).start'],
  ['Patient.`name`.family // the `family`', 'string "Chalmers"'],
  ['(Patient.name.use | Patient.name.use).count()', 'integer 2'],
  ['1.8 - 1.2 = 0.6', 'boolean true'],
  ['1.50.toString()', 'string "1.50"'],
  ['@2012-04-15T15:00:00+02:00 = @2012-04-15T16:00:00+03:00', 'boolean true'],
  ['@2012-04-15 = @2012-04-15T10:00:00Z'],
  ['@2012-04 < @2012-05-01', 'boolean true'],
  ['@T10:30 < @T10:30:00'],
  ["('a').iif($this = 'a', 'yes', 'no')", 'string "yes"'],
  ['(0).not()', 'boolean false'],
  ['true xor false', 'boolean true'],
  ['false implies {}', 'boolean true'],
  ['{} or true', 'boolean true'],
  ['{} and true'],
]

describe('an expression on a Patient', () => {
  it.each(PATIENT)('returns values with their types: %s', (expression, ...expected) => {
    expect(evaluate(expression, patient)).toEqual(expected)
  })
})

describe('an expression on an Observation', () => {
  it.each([
    ['Observation.value as Quantity', 'Quantity {"value":"\\u00001.10","unit":"mg","comparator":"<"}'],
    ['Observation.value.as(Quantity).value > 1', 'boolean true'],
    ['Observation.value.as(Quantity).value = 1.1', 'boolean true'],
    ['Observation.component.value', 'Quantity {"value":5}', 'string "x"'],
    ['Observation.component.value.as(DateTime)'],
    ['Observation | Observation.component.code.text', `Observation ${JSON.stringify(observation)}`, 'string "a"', 'string "b"'],
    ['Observation.component.where(code.text = %resource.component.code.text.first()).value', 'Quantity {"value":5}'],
  ])('returns values with their types: %s', (expression, ...expected) => {
    expect(evaluate(expression, observation)).toEqual(expected)
  })

  it('returns the code system of a bound code', () => {
    expect(valuesOf(branches('Observation.status', 'Observation'), observation)).toEqual([
      { type: 'code', value: 'final', system: 'http://hl7.org/fhir/observation-status' },
    ])
  })

  it('lists the types of a choice when it is compiled', () => {
    expect(branches('Observation.effective.as(Period) | Observation.effective.as(dateTime)', 'Observation')).toEqual([
      ['Period', 'effectivePeriod'],
      ['dateTime', 'effectiveDateTime?'],
    ])
  })
})

describe('a condition', () => {
  it.each([
    ["status = 'final'", true],
    ["status = 'amended'", false],
    ['effective = 5', undefined],
    ['component', true],
    ['component.value is Quantity', true],
    ['subject.resolve() is Patient', undefined],
  ])('is true, false or undecided: %s', (expression, expected) => {
    expect(prepareTest(test(expression, 'Observation'))(observation, { resource: observation, root: observation })).toBe(expected)
  })
})

describe('an invalid or unsupported expression', () => {
  it.each([
    '',
    'Patient.',
    'Patient.name[',
    "'open",
    'Patient.name.where()',
    'Patient..name',
    'a b',
    '#',
    'Patient.name[x]',
    'now()',
    'repeat(item)',
    'Patient.name.aggregate($this)',
    '%secret',
    '$total',
    'Patient.constructor()',
    '1.2 / 1.8 ~ 0.67',
    'Patient.extension(url)',
    `${'('.repeat(100)}1${')'.repeat(100)}`,
    `Patient${'.name'.repeat(1000)}`,
  ])('is rejected: %s', (expression) => {
    expect(() => branches(expression, 'Patient')).toThrow(UnsupportedExpression)
  })

  it.each(['Patient.constructor', 'Patient.name.ofType(constructor)', 'Patient.contained.ofType(toString)'])(
    'selects nothing: %s',
    (expression) => {
      expect(branches(expression, 'Patient')).toEqual([])
    },
  )
})

describe('evaluation', () => {
  const family = 'x'.repeat(5_000)
  const names: Resource = { resourceType: 'Patient', name: Array.from({ length: 100 }, () => ({ family, given: ['a', 'b'] })) }
  const counted = (expression: string, left: number): unknown => {
    const test = prepareTest(createCompiler(R4).test(expression, 'Patient', { left }))
    return test(names, { resource: names, root: names, work: { left } })
  }
  it.each([
    ['items that are collected', 'name.given.count() > 1', 150],
    ['items of the resource, for each item', 'name.where(%resource.name.given.count() > 1).exists()', 150],
    ['children', 'children().children().where(false).exists()', 150],
    ['descendants', 'descendants().where(false).exists()', 250],
    ['pairs that are compared', '(name.given ~ name.given)', 30_000],
    ['items that are searched', 'name.given.exclude(name.given).exists()', 1_000],
    ['characters that are created', "name[0].family.select($this & $this & $this) = 'x'", 150],
    ['characters that are read', 'name.all(family.upper() = family.lower())', 150],
    ['characters that are compared with each other', "name[0].family.contains(name[1].family & 'y')", 10_000],
  ])('counts %s', (_, expression, left) => {
    expect(() => counted(expression, left)).toThrow(TooCostly)
    expect([true, false]).toContain(counted(expression, 1_000_000))
  })
  it.each([
    "family.replace('x', family)",
    "family.replace('', family)",
    "family.replaceMatches('x', family)",
    "family.replaceMatches('(x)', '$1$1$1$1' & family)",
  ])('stops when a replacement makes a text too long: %s', (expression) => {
    expect(() => counted(`name[0].where(${expression} = 'x').exists()`, 100_000_000)).toThrow(TooCostly)
  })
  it('inserts a replacement text literally', () => {
    expect(counted("name[0].family.replace('x', '$&').startsWith('$&$&')", 1_000_000)).toBe(true)
    expect(counted("'abc'.replaceMatches('(b)', '$1$1$`') = 'abb$`c'", 1_000_000)).toBe(true)
  })
  it.each([
    ['$`', '$`'],
    ["$\\'", "$\\'"],
    ['$$`', '$`'],
    ["$$\\'", "$\\'"],
    ['$$$`', '$$`'],
    ['$$$$', '$$'],
  ])('does not insert the text around a match: %s', (by, made) => {
    expect(counted(`'abc'.replaceMatches('b', '${by}') = 'a${made}c'`, 1_000_000)).toBe(true)
  })
  it('counts a long chain of functions by its length only', () => {
    expect(counted(`name[0].family${".replace('y', 'z')".repeat(100)} = name[0].family`, 1_000_000)).toBe(true)
  })
})
