/** Very large values and resources get the same findings as small ones, with work in proportion to their size. */
import { describe, expect, it } from '@jest/globals'
import type { Issue } from '../../../lambdas/fhir/outcome.ts'
import type { Element } from '../../../lambdas/fhir/resource.ts'
import { isLargeTree, MEMBERS_PER_PIECE } from '../../../lambdas/fhir/validate/incremental-walk.ts'
import { validate, validateInPieces } from '../../../lambdas/fhir/validate/validate.ts'

const found = (resource: object): readonly string[] =>
  validate({ resourceType: 'Patient', ...resource }).map(({ code, expression }) => `${code} ${expression}`)

/** Returns the most reads of members and items between two pauses, without those of rules, and the number of all reads. */
function looksOf(resource: object): { readonly most: number; readonly all: number; readonly issues: readonly Issue[] } {
  const looks = { most: 0, all: 0, now: 0 }
  const pieces = validateInPieces(watched(resource, looks) as Element)
  for (let last: unknown; ; ) {
    const piece = pieces.next()
    if (last !== 'rule') looks.most = Math.max(looks.most, looks.now)
    looks.now = 0
    if (piece.done) return { ...looks, issues: piece.value }
    last = piece.value
  }
}

/** A tree whose members count how often they are read. */
function watched(tree: unknown, looks: { now: number; all: number }): unknown {
  if (typeof tree !== 'object' || tree === null) return tree
  const copy = Array.isArray(tree) ? [] : {}
  for (const [key, value] of Object.entries(tree)) {
    const below = watched(value, looks)
    const get = (): unknown => {
      looks.now++
      looks.all++
      return below
    }
    Object.defineProperty(copy, key, { enumerable: true, configurable: true, get })
  }
  return copy
}

const many = <T>(count: number, each: (i: number) => T): readonly T[] => Array.from({ length: count }, (_, i) => each(i))
const items = (count: number, name = 'l') => many(count, (i) => ({ linkId: `${name}${i}`, type: 'string', text: 't' }))
/** Items in items, each beside a hundred others. */
const chain = (depth: number): object =>
  depth === 0 ? items(1)[0]! : { linkId: `c${depth}`, type: 'group', item: [...items(100, `c${depth}.`), chain(depth - 1)] }
const large = { resourceType: 'Questionnaire', id: 'q', status: 'draft', item: items(5_000) }

describe('a large resource', () => {
  it.each<[string, object]>([
    ['items', large],
    ['items below an item', { ...large, item: [{ linkId: 'l', type: 'group', item: items(5_000) }] }],
    ['a chain of items', { ...large, item: [chain(30)] }],
    [
      'a contained resource that refers to its owner',
      { resourceType: 'Patient', contained: [{ ...large, extension: [{ url: 'u', valueReference: { reference: '#' } }] }] },
    ],
    [
      'a contained resource',
      { resourceType: 'Patient', contained: [large], extension: [{ url: 'u', valueReference: { reference: '#q' } }] },
    ],
    ['an entry of a Bundle', { resourceType: 'Bundle', type: 'collection', entry: [{ fullUrl: 'urn:uuid:1', resource: large }] }],
    ['values', { resourceType: 'Patient', name: [{ given: many(20_000, () => 'a') }] }],
  ])('is validated in pieces: %s', (_, resource) => {
    const { most, all, issues } = looksOf(resource)
    expect(issues).toEqual([])
    expect(all).toBeGreaterThan(20_000)
    expect(most).toBeLessThan(20_000)
  })

  it('has pauses in proportion to its size, and one before each rule', () => {
    const count = (resource: object, kind: string) => [...validateInPieces(resource as Element)].filter((pause) => pause === kind).length
    expect(count({ ...large, item: items(10_000) }, 'piece')).toBeGreaterThanOrEqual((10_000 * 4) / MEMBERS_PER_PIECE)
    expect(count({ ...large, item: items(10_000) }, 'rule')).toBe(count({ resourceType: 'Questionnaire' }, 'rule'))
    expect(count({ resourceType: 'StructureDefinition' }, 'rule')).toBeGreaterThan(10)
  })

  it.each<[string, object]>([
    ['items', { ...large, item: [...items(3_000), { linkId: 1, item: [...items(3_000), { linkId: 'x' }, null, 'y'] }, ...items(10)] }],
    ['values', { resourceType: 'Patient', name: [{ given: [...many(5_000, () => 'a'), null, 1, {}] }], birthDate: items(5_000) }],
    [
      'contained resources',
      { resourceType: 'Patient', contained: [large, { ...large, id: undefined, contained: [large] }, { resourceType: 'X' }], link: [] },
    ],
    [
      'resources',
      { resourceType: 'Parameters', parameter: [{ name: 'a', resource: { ...large, x: 1 } }, { resource: { y: items(5_000) } }] },
    ],
    ['an object where a list is expected', { ...large, item: { a: items(3_000) } }],
    [
      'a list where an object is expected',
      { resourceType: 'Patient', text: items(3_000), _birthDate: items(3_000), _active: { x: items(3_000) } },
    ],
    [
      'companions',
      {
        resourceType: 'Patient',
        name: [{ given: many(5_000, () => null), _given: many(5_000, (i) => (i % 100 === 0 ? null : { id: 'i' })) }],
      },
    ],
  ])('has the same findings in the same order: %s', (_, resource) => {
    const { issues } = looksOf(resource)
    expect(issues).toEqual(validate(resource))
    expect(issues.length).toBeGreaterThan(0)
  })

  it('has more than some thousand members and items', () => {
    expect([
      isLargeTree(items(MEMBERS_PER_PIECE / 5)),
      isLargeTree(items(MEMBERS_PER_PIECE)),
      isLargeTree({ a: 'x'.repeat(1_000_000) }),
      isLargeTree(many(MEMBERS_PER_PIECE, () => null)),
    ]).toEqual([false, true, false, true])
  })
})

/** An element that counts how often its members are listed. */
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

describe('a resource with very many faults', () => {
  it('is checked until a hundred are found, and a note says so', () => {
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

  it('gets no note if it has exactly a hundred', () => {
    const issues = validate({ resourceType: 'Patient', name: Array(100).fill({}) })
    expect([issues.length, issues.at(-1)!.severity]).toEqual([100, 'error'])
  })
})

describe('millions of characters', () => {
  const length = 16_000_000
  it.each<[string, object, readonly string[]]>([
    ['a code of words', { language: 'a '.repeat(length / 2).trim() }, []],
    ['a code that ends in a space', { language: 'a '.repeat(length / 2) }, ['value Patient.language']],
    ['an OID', { extension: [{ url: 'u', valueOid: `urn:oid:1${'.1'.repeat(length / 2)}` }] }, ['value Patient.extension[0].value']],
    ['base64', { photo: [{ contentType: 'image/png', data: 'AAAA'.repeat(length / 4) }] }, []],
    ['base64 with spaces', { photo: [{ contentType: 'image/png', data: `${'A '.repeat(length / 2)}` }] }, []],
    ['base64 in quarters', { photo: [{ contentType: 'image/png', data: 'A'.repeat(length + 1) }] }, ['value Patient.photo[0].data']],
    [
      'base64 after its end',
      { photo: [{ contentType: 'image/png', data: `=${'A'.repeat(length - 1)}` }] },
      ['value Patient.photo[0].data'],
    ],
  ])('are validated: %s', (_, resource, expected) => {
    const issues = found(resource).map((issue) => issue.replace(/valueOid/, 'value'))
    // Other tests check whether a code is in its value set.
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
  ])('is valid in groups of four characters: %j: %s', (data, isGood) =>
    expect(found({ photo: [{ contentType: 'image/png', data }] }).length === 0).toBe(isGood),
  )
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
  ])('is valid without outer or double spaces: %j: %s', (code, isGood) =>
    expect(found({ maritalStatus: { coding: [{ code }] } }).length === 0).toBe(isGood),
  )
})
