/** FHIR R4, validation: structure, cardinality, value domains, bindings and invariants. https://hl7.org/fhir/R4/validation.html */
import { describe, expect, it } from '@jest/globals'
import { validate } from '../../../lambdas/fhir/validate/validate.ts'
import { invalid } from '../../fixtures/validation/invalid.ts'
import { changeSeed } from '../../fixtures/validation/seed-changes.ts'
import { seeds } from '../../fixtures/validation/seeds.ts'
import { valid } from '../../fixtures/validation/valid.ts'

describe('a valid resource', () => {
  it.each(Object.entries(seeds))('has no findings: %s', (_name, seed) => {
    expect(validate(seed)).toEqual([])
  })

  it.each(valid.map((row) => [...row, (JSON.stringify(row[2]) ?? 'nothing').slice(0, 60)] as const))(
    'may be unusual: %s %s',
    (seed, pointers, value) => {
      expect(validate(changeSeed(seed, pointers, value))).toEqual([])
    },
  )
})

describe.each(Object.entries(invalid))('%s', (_category, rows) => {
  it.each(rows)('%s %s is found', (seed, pointers, value, code, expression) => {
    const issues = validate(changeSeed(seed, pointers, value))
    expect(issues).toContainEqual(expect.objectContaining({ severity: 'error', code, expression }))
    expect(issues.length).toBeLessThanOrEqual(3)
  })
})

describe('the corpus', () => {
  it('has 12 seeds, 12 kinds of fault, at least 160 invalid and 40 valid cases', () => {
    expect(Object.keys(seeds)).toHaveLength(12)
    expect(Object.keys(invalid)).toHaveLength(12)
    expect(Object.values(invalid).flat().length).toBeGreaterThanOrEqual(160)
    expect(valid.length).toBeGreaterThanOrEqual(40)
  })
})

describe('findings', () => {
  it('name every fault', () => {
    const issues = validate(changeSeed('patient', '/gender /birthDate /foo', ['M', '1974-13', 1]))
    expect(issues.map(({ code, expression }) => `${code} ${expression}`).sort()).toEqual([
      'code-invalid Patient.gender',
      'structure Patient.foo',
      'value Patient.birthDate',
    ])
  })

  it('name the codes of a small value set and never the value', () => {
    const [issue] = validate(changeSeed('patient', '/gender', 'SECRET'))
    expect(issue?.text).toBe(
      'The code is not in the value set http://hl7.org/fhir/ValueSet/administrative-gender: male, female, other, unknown',
    )
  })

  it('distinguish an impossible day from a malformed date', () => {
    const told = (birthDate: string) => validate(changeSeed('patient', '/birthDate', birthDate)).map(({ text }) => text)
    expect(told('1970-02-30')).toEqual(['There is no such day'])
    expect(told('30.2.1970')).toEqual(['A date looks like 2024, 2024-05 or 2024-05-31'])
  })

  it('end after 100, with a note', () => {
    const issues = validate({ resourceType: 'Patient', name: Array.from({ length: 500 }, () => ({ foo: 1 })) })
    expect(issues).toHaveLength(101)
    expect(issues.at(-1)).toEqual({
      severity: 'information',
      code: 'informational',
      text: 'There are more findings; the first 100 are listed',
    })
  })

  it('name the path of a property with a hostile name', () => {
    const hostile = JSON.parse('{"resourceType":"Patient","__proto__":{"a":1},"hasOwnProperty":1,"x`y\\\\":2}') as unknown
    expect(validate(hostile).map(({ expression }) => expression)).toEqual([
      'Patient.__proto__',
      'Patient.hasOwnProperty',
      'Patient.`x\\`y\\\\`',
    ])
  })
})

describe('references', () => {
  it('may be to any type when the targets are not checked', () => {
    const resource = changeSeed('patient', '/managingOrganization/reference', 'Patient/1')
    expect(validate(resource, { referenceTargets: false })).toEqual([])
    expect(validate(resource)).toHaveLength(1)
  })
})

describe('hostile input', () => {
  it.each([null, undefined, 1, 'x', true, [], [{}], {}, { resourceType: null }, { resourceType: {} }])(
    'gives one finding if it is no resource: %j',
    (input) => {
      expect(validate(input)).toEqual([expect.objectContaining({ severity: 'error', code: 'structure' })])
    },
  )

  it('gives a finding if it needs more work than allowed', () => {
    const coding = Array.from({ length: 2_000 }, (_, index) => ({ code: `c${index}` }))
    const component = Array.from({ length: 2_000 }, () => ({ code: { coding: [{ code: 'x' }] } }))
    const [issue] = validate({ resourceType: 'Observation', status: 'final', code: { coding }, valueString: 'x', component })
    expect(issue).toEqual(expect.objectContaining({ code: 'too-costly', expression: 'Observation' }))
  })

  it.each([99, 100, 101])('gives that finding only before 100 others: %d', (count) => {
    const coding = Array.from({ length: 2_000 }, (_, index) => ({ code: `c${index}` }))
    const component = Array.from({ length: 2_000 }, () => ({ code: { coding: [{ code: 'x' }] } }))
    const identifier = Array(count).fill({})
    const issues = validate({ resourceType: 'Observation', identifier, status: 'final', code: { coding }, valueString: 'x', component })
    expect(issues).toHaveLength(Math.min(count + 1, 101))
    expect(issues.some(({ code }) => code === 'too-costly')).toBe(count < 100)
  })

  it('gives a finding if it is nested too deep', () => {
    let extension: unknown = { url: 'x', valueCode: 'y' }
    for (let depth = 0; depth < 5_000; depth++) extension = { url: 'x', extension: [extension] }
    expect(validate({ resourceType: 'Patient', extension: [extension] })).toContainEqual(
      expect.objectContaining({ text: 'This is nested too deep' }),
    )
  })
})

/** In XML these are attributes, or no elements of FHIR: R4's fhir.schema.json has neither `_id` of a resource nor `_div`. */
describe('extensions', () => {
  const extension = [{ url: 'http://example.org/x', valueString: 'x' }]

  it.each([
    ['a resource’s id', { resourceType: 'Patient', id: 'p', _id: { extension } }, 'Patient._id'],
    ['an element’s id', { resourceType: 'Patient', name: [{ text: 'x', id: 'n', _id: { extension } }] }, 'Patient.name[0]._id'],
    ['a contained resource’s id', { resourceType: 'List', status: 'current', mode: 'working', contained: [{ resourceType: 'Patient', id: 'p', _id: { extension } }], subject: { reference: '#p' } }, 'List.contained[0]._id'],
    ['an extension’s url', { resourceType: 'Patient', extension: [{ url: 'http://example.org/x', _url: { extension }, valueString: 'x' }] }, 'Patient.extension[0]._url'],
    ['XHTML', { resourceType: 'Patient', text: { status: 'generated', div: '<div xmlns="http://www.w3.org/1999/xhtml">x</div>', _div: { extension } } }, 'Patient.text._div'],
  ])('are refused on %s', (_, resource, expression) => {
    expect(validate(resource).map((issue) => [issue.severity, issue.code, issue.expression])).toEqual([['error', 'structure', expression]])
  }) // biome-ignore format: a table

  it('are accepted on other primitives', () => {
    expect(validate({ resourceType: 'Patient', id: 'p', _language: { extension }, _implicitRules: { extension } })).toEqual([])
  })
})
