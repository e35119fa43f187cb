/** The validator returns findings for any tree: resources with parts exchanged, removed or replaced. */
import { describe, expect, it } from '@jest/globals'
import { validate } from '../../../lambdas/fhir/validate/validate.ts'
import { caseCountOf, firstSeed } from '../../fixtures/long-runs.ts'
import { validatedInPieces } from '../../fixtures/validation/in-pieces.ts'
import { seeds } from '../../fixtures/validation/seeds.ts'

const ROUNDS = caseCountOf(5_000, 200_000)

/** A small generator of numbers, so that a failure can be repeated. */
function numbers(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

const STRANGE: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  '',
  ' ',
  'x',
  '#',
  '#org',
  '\u00001.10',
  '2024-02-30',
  [],
  {},
  [null],
  [[]],
  [{}],
  { id: 'x' },
  { extension: [] },
  { resourceType: 'Patient' },
  { resourceType: 'Nothing' },
  { coding: [null] },
  { reference: '#' },
  { reference: 5 },
  [1, 'x', null, {}, []],
]

const KEYS = [
  'constructor',
  'toString',
  '__proto__',
  'hasOwnProperty',
  'length',
  'resourceType',
  'id',
  'extension',
  '_id',
  '_extension',
  'contained',
  'filter',
  'value',
  'code',
  'system',
  'valueString',
  'reference',
  'entry',
  'concept',
  'item',
  'at',
  'link',
]

function places(tree: unknown, found: [Record<string, unknown>, string][] = []): [Record<string, unknown>, string][] {
  if (typeof tree !== 'object' || tree === null) return found
  for (const key of Object.keys(tree)) {
    found.push([tree as Record<string, unknown>, key])
    places((tree as Record<string, unknown>)[key], found)
  }
  return found
}

describe('any tree', () => {
  it('gets findings with code and text, the same in pieces, and never an exception', () => {
    const pick = numbers(20240601 + firstSeed())
    const all = Object.values(seeds)
    let found = 0
    for (let round = 0; round < ROUNDS; round++) {
      const resource = structuredClone(all[pick(all.length)]!)
      for (let change = pick(4); change >= 0; change--) {
        const around = places(resource)
        const [parent, key] = around[pick(around.length)]!
        const [other, otherKey] = around[pick(around.length)]!
        const value = structuredClone(pick(2) === 0 ? STRANGE[pick(STRANGE.length)] : other[otherKey])
        const name = pick(3) === 0 ? KEYS[pick(KEYS.length)]! : key
        if (!Array.isArray(parent) || /^\d+$/.test(name))
          Object.defineProperty(parent, name, { value, enumerable: true, configurable: true, writable: true })
        if (pick(8) === 0) delete parent[key]
      }
      const issues = validate(resource)
      found += issues.length
      expect(validatedInPieces(resource)).toEqual(issues)
      for (const issue of issues) expect(issue.text.length * issue.code.length).toBeGreaterThan(0)
    }
    expect(found).toBeGreaterThan(ROUNDS)
  })
})
