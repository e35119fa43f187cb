/** Values and resources that are very large are judged like small ones, with as much work as their size asks for. */
import { describe, expect, it } from '@jest/globals'
import { validate, validateInPieces } from '../../lambdas/fhir/validate/validate.ts'

const found = (resource: object): readonly string[] =>
  validate({ resourceType: 'Patient', ...resource }).map(({ code, expression }) => `${code} ${expression}`)

it('a resource is validated in pieces: one for each of its members and rules', () => {
  const { length: without } = [...validateInPieces({ resourceType: 'Patient' })]
  expect([...validateInPieces({ resourceType: 'Patient', active: true, name: [{ text: 'a' }] })]).toHaveLength(without + 2)
  expect([...validateInPieces({ resourceType: 'Questionnaire' })].length).toBeGreaterThan(without)
})

/** An element that counts how often it is looked into. */
function counted(): { readonly item: object; readonly looks: () => number } {
  let looks = 0
  const item = new Proxy(
    {},
    {
      ownKeys(target) {
        looks++
        return Reflect.ownKeys(target)
      },
    },
  )
  return { item, looks: () => looks }
}

describe('a resource of very many faults', () => {
  it('is looked at until a hundred are found, which says so', () => {
    const { item, looks } = counted()
    const issues = validate({ resourceType: 'Patient', name: Array(100_000).fill(item) })
    expect(issues).toHaveLength(101)
    expect(issues[99]).toMatchObject({ severity: 'error', expression: 'Patient.name[99]' })
    expect(issues[100]).toEqual({
      severity: 'information',
      code: 'informational',
      text: 'There are more findings; the first 100 are listed',
    })
    expect(looks()).toBe(101)
  })

  it('of exactly a hundred lists them and says no more', () => {
    const issues = validate({ resourceType: 'Patient', name: Array(100).fill({}) })
    expect([issues.length, issues.at(-1)!.severity]).toEqual([100, 'error'])
  })
})

describe('millions of characters', () => {
  const many = 16_000_000
  it.each<[string, object, readonly string[]]>([
    ['a code of words', { language: 'a '.repeat(many / 2).trim() }, []],
    ['a code that ends in a space', { language: 'a '.repeat(many / 2) }, ['value Patient.language']],
    ['an OID', { extension: [{ url: 'u', valueOid: `urn:oid:1${'.1'.repeat(many / 2)}` }] }, ['value Patient.extension[0].value']],
    ['base64', { photo: [{ contentType: 'image/png', data: 'AAAA'.repeat(many / 4) }] }, []],
    ['base64 with spaces', { photo: [{ contentType: 'image/png', data: `${'A '.repeat(many / 2)}` }] }, []],
    ['base64 in quarters', { photo: [{ contentType: 'image/png', data: 'A'.repeat(many + 1) }] }, ['value Patient.photo[0].data']],
    ['base64 after its end', { photo: [{ contentType: 'image/png', data: `=${'A'.repeat(many - 1)}` }] }, ['value Patient.photo[0].data']],
  ])('%s', (_, resource, expected) => {
    const issues = found(resource).map((issue) => issue.replace(/valueOid/, 'value'))
    // Whether a code is one of a value set is for other tests.
    expect(issues.filter((issue) => !issue.startsWith('code-invalid'))).toEqual(expected)
  })
})

describe('base64', () => {
  it.each<[string, boolean]>([
    ['AAAA', true],
    ['AA==', true],
    ['AAA=', true],
    ['AA= =', true],
    ['A A\nA\tA', true],
    ['A===', false],
    ['AA=A', false],
    ['====', false],
    ['AAA', false],
    ['AAAŁ', false],
    ['AAA-', false],
    ['AA=\u00a0=', true],
  ])('%j: %s', (data, isGood) => expect(found({ photo: [{ contentType: 'image/png', data }] }).length === 0).toBe(isGood))
})

describe('a code', () => {
  it.each<[string, boolean]>([
    ['a b', true],
    ['a  b', false],
    [' a', false],
    ['a ', false],
    ['a\tb', false],
    ['a\u00a0b', false],
    ['\n', false],
  ])('%j: %s', (code, isGood) => expect(found({ maritalStatus: { coding: [{ code }] } }).length === 0).toBe(isGood))
})
