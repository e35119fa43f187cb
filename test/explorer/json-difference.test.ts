/** Difference between two JSON trees. */
import { describe, expect, it } from '@jest/globals'
import { differencesOf, jsonText } from '../../lambdas/explorer/browser/components/json-difference.ts'
import { parseJson } from '../../lambdas/explorer/browser/json.ts'

/** Returns the differences as lines: `path: before → after`. */
const linesOf = (before: string, after: string): readonly string[] =>
  differencesOf(parseJson(before), parseJson(after)).map(
    ({ path, kind, before, after }) =>
      `${kind} ${path}: ${[before, after].map((each) => (each === undefined ? '' : jsonText(each))).join(' → ')}`,
  )

describe('differencesOf', () => {
  it.each([
    ['{"a":1,"b":[{"c":null}]}', '{"b":[{"c":null}],"a":1}', []],
    ['{"a":"x"}', '{"a":"y"}', ['changed a: "x" → "y"']],
    ['{"a":"x"}', '{}', ['removed a: "x" → ']],
    ['{}', '{"a":{"b":[true]}}', ['added a:  → {"b": [true]}']],
    ['{"z":0,"a":1}', '{"n":2,"a":3}', ['added n:  → 2', 'changed a: 1 → 3', 'removed z: 0 → ']],
    ['{"name":[{"given":["A","B"]}]}', '{"name":[{"given":["A","C"]}]}', ['changed name[0].given[1]: "B" → "C"']],
    ['{"a":["x","y"]}', '{"a":["y"]}', ['changed a[0]: "x" → "y"', 'removed a[1]: "y" → ']],
    ['{"a":[]}', '{"a":["y"]}', ['added a[0]:  → "y"']],
    ['{"a":null}', '{"a":["y"]}', ['changed a: null → ["y"]']],
    ['{"a":[null,"x"]}', '{"a":["w","x"]}', ['changed a[0]: null → "w"']],
    ['{"a":{"b":1}}', '{"a":[1]}', ['changed a: {"b": 1} → [1]']],
    ['{"a":1}', '{"a":"1"}', ['changed a: 1 → "1"']],
    ['{"a":1.5}', '{"a":1.50}', ['changed a: 1.5 → 1.50']],
    ['{"a":1.50}', '{"a":1.50}', []],
    ['{"a":0.12345678901234567890}', '{"a":0.12345678901234567891}', ['changed a: 0.12345678901234567890 → 0.12345678901234567891']],
    ['{"__proto__":1}', '{"__proto__":2}', ['changed __proto__: 1 → 2']],
    ['{}', '{"constructor":"x"}', ['added constructor:  → "x"']],
    ['1', '2', ['changed : 1 → 2']],
  ])('compares %s with %s', (before, after, expected) => expect(linesOf(before, after)).toEqual(expected))

  it('returns one difference for a tree that is absent on one side', () => {
    expect(differencesOf(undefined, { a: 1 })).toEqual([{ path: '', kind: 'added', after: { a: 1 } }])
    expect(differencesOf({ a: 1 }, undefined)).toEqual([{ path: '', kind: 'removed', before: { a: 1 } }])
    expect(differencesOf(undefined, undefined)).toEqual([])
  })
})
