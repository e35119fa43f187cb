/** Places of issues in a resource, and in its text. */
import { describe, expect, it } from '@jest/globals'
import { divide, marksByPart, pathOf } from '../../lambdas/explorer/browser/issue-places.ts'
import { parseJson, type Tree } from '../../lambdas/explorer/browser/json.ts'
import { issueLineIn, issuePlaceIn, prettyText } from '../../lambdas/explorer/browser/json-text.ts'

const PATIENT: Tree = {
  resourceType: 'Patient',
  id: 'a',
  extension: [
    { url: 'http://example.org/first', valueCode: 'x' },
    { url: 'http://example.org/second', valueQuantity: { value: 1 } },
  ],
  name: [
    { family: 'A', given: ['B', null], _given: [null, { extension: [{ url: 'http://example.org/reason' }] }] },
    { use: 'old', family: 'C' },
  ],
  contact: [{ gender: 'male' }],
  birthDate: '2020',
  _birthDate: { extension: [{ url: 'http://example.org/time' }] },
  _gender: { extension: [{ url: 'http://example.org/absent' }] },
  deceasedBoolean: false,
  maritalStatus: { text: 'M' },
  contained: [{ resourceType: 'Organization', id: 'o', name: 'O' }],
}

describe('the path of', () => {
  it.each([
    ['Patient.name[0].family', ['name', 0, 'family']],
    ['name[1].family', ['name', 1, 'family']],
    ['Patient.name', ['name']],
    ['Patient.name[1]', ['name', 1]],
    ['Patient.name.family', ['name']],
    ["Patient.name.where(use = 'old').family", ['name', 1, 'family']],
    ['Patient.contact.gender', ['contact', 0, 'gender']],
    ['Patient.maritalStatus[0].text', ['maritalStatus', 'text']],
    ['Patient.name[0].given[1]', ['name', 0, 'given', 1]],
    ['Patient.name[0].given[1].extension[0].url', ['name', 0, '_given', 1, 'extension', 0, 'url']],
    ['Patient.birthDate.extension[0]', ['_birthDate', 'extension', 0]],
    ["Patient.birthDate.extension('http://example.org/time')", ['_birthDate', 'extension', 0]],
    ['Patient.gender', ['_gender']],
    ['Patient.gender.extension[0].url', ['_gender', 'extension', 0, 'url']],
    ['Patient.deceased', ['deceasedBoolean']],
    ['Patient.deceasedBoolean', ['deceasedBoolean']],
    ['Patient.deceased.ofType(boolean)', ['deceasedBoolean']],
    ['Patient.extension[1].value.ofType(Quantity).value', ['extension', 1, 'valueQuantity', 'value']],
    ["Patient.extension('http://example.org/second').value", ['extension', 1, 'valueQuantity']],
    ["Patient.extension.where(url='http://example.org/second')", ['extension', 1]],
    ['Patient.contained[0].name', ['contained', 0, 'name']],
    ['Patient.contained[0].ofType(Organization).name', ['contained', 0, 'name']],
    ['Patient', []],
  ])('%s is found', (expression, path) => {
    expect(pathOf(expression, PATIENT)).toEqual(path)
  })

  it.each([
    'Patient.name[2]',
    'Patient.maritalStatus[1]',
    'Patient.photo',
    'Observation.name[0]',
    'Patient.deceased.ofType(dateTime)',
    'Patient.contained[0].ofType(Patient)',
    "Patient.extension('http://example.org/third')",
    "Patient.name.where(use = 'usual')",
    'Patient.name.where(use.exists())',
    'Patient.name.first()',
    'Patient.constructor',
    'Patient.__proto__',
    'Patient.birthDate.length',
    'Patient.name[0',
    'Patient..name',
    'Patient name',
    '',
  ])('%j is undefined', (expression) => {
    expect(pathOf(expression, PATIENT)).toBeUndefined()
  })
})

it('divides issues into those with a shown element, and the others', () => {
  const [family, whole, meta, none] = [['Patient.name[0].family', 'Patient.name[1]'], ['Patient'], ['Patient.id'], []].map(
    (expression) => ({ expression }),
  )
  const { marks, others } = divide([family!, whole!, meta!, none!, {}], PATIENT, ['id'])
  expect(marks).toEqual([
    { path: ['name', 0, 'family'], issue: family },
    { path: ['name', 1], issue: family },
  ])
  expect(others).toEqual([whole, meta, none, {}])
})

it('passes the marks of each part with their paths from there, and none of the value itself', () => {
  const issue = { code: 'value' }
  const marksOf = marksByPart([['name', 0], ['name', 1, 'family'], ['__proto__'], []].map((path) => ({ path, issue })))
  expect(marksOf('name')).toEqual([
    { path: [0], issue },
    { path: [1, 'family'], issue },
  ])
  expect([marksOf('__proto__'), marksOf('constructor'), marksByPart([])('name')]).toEqual([[{ path: [], issue }], [], []])
})

describe('the line of an issue', () => {
  const lineIn = (text: string, issue: Tree) => {
    const line = issueLineIn(text, issue)
    return line === undefined ? undefined : text.slice(...line)
  }
  const text = prettyText(
    '{"resourceType":"Patient","note":"}],\\"{","name":[{"family":"A"},{"given":["B",1.50,[]],"fam\\u0069ly":"C"}],"x":true}',
  )

  it.each([
    ['Patient.name[0].family', '      "family": "A"'],
    ['Patient.name[1]', '    {'],
    ['Patient.name[1].given[1]', '        1.50,'],
    ['Patient.name[1].given', '      "given": ['],
    ['Patient.name[1].family', '      "fam\\u0069ly": "C"'],
    ['Patient.x', '  "x": true'],
    ['Patient.note', '  "note": "}],\\"{",'],
    ['Patient', undefined],
    ['Patient.y', undefined],
  ])('with the expression %s is found', (expression, line) => {
    expect(lineIn(text, { expression: [expression] })).toBe(line)
  })

  it('is the whole text of a resource without indentation', () => {
    const resource = parseJson('{"a":[[1,2],{"b":{"c":[3]}}],"d":4}') as Tree
    const flat = JSON.stringify(resource)
    expect(lineIn(flat, { expression: ['a[1].b.c[0]'] })).toBe(flat)
  })

  it('has a place that is found without a search of the text', () => {
    const placeIn = issuePlaceIn('{"resourceType":"Patient","name":[{"family":"A"}]}')
    const expressions = [['Patient.x', 'Patient.name.family'], ['Patient'], []]
    expect(expressions.map((expression) => placeIn({ expression }))).toEqual([['name', 0, 'family'], undefined, undefined])
    expect(issuePlaceIn('{')({ details: { text: 'not valid JSON (line 12, column 3)' } })).toBe(12)
  })

  it('is that of the message if the text is no JSON', () => {
    const issue = (line: number) => ({ details: { text: `The body is not valid JSON: a name is expected (line ${line}, column 3)` } })
    expect(lineIn('{\n  "a": 1,\n}\n', issue(1))).toBe('{')
    expect(lineIn('{\n  "a": 1,\n}\n', issue(3))).toBe('}')
    expect(lineIn('{\n', { details: { text: 'no line' } })).toBeUndefined()
    expect(lineIn('{\n', {})).toBeUndefined()
  })
})
