/** Indented JSON made from bytes equals the output of JSON.stringify, however the bytes are divided. */
import { describe, expect, it } from '@jest/globals'
import { indentJson } from '../../lambdas/fhir/pretty-json.ts'

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const pretty = (...parts: readonly Uint8Array[]): string => Buffer.concat([...indentJson(parts)]).toString()

const deep = (levels: number): unknown => (levels === 0 ? [{}, []] : { a: [deep(levels - 1)], b: {} })

describe('indented JSON', () => {
  it.each<[string, unknown]>([
    ['an empty object', {}],
    ['empty lists and objects', { a: [], b: {}, c: [[], {}] }],
    ['texts that look like structure', { 'a"{': '[1,2]: {"\\', b: 'ä\n"}', c: ['\\"', '\\\\', ''] }],
    ['values of every kind', { a: [1, -1.5, true, false, null, 'x'], b: null, c: { d: 1 } }],
    ['many levels', deep(60)],
    ['many members', Array.from({ length: 20_000 }, (_, i) => ({ i, text: 'x'.repeat(i % 7) }))],
    ['a long text', { a: '"'.repeat(200_000) }],
  ])('equals the output of JSON.stringify: %s', (_, tree) => {
    const [text, expected] = [JSON.stringify(tree), `${JSON.stringify(tree, null, 2)}\n`]
    expect(pretty(bytes(text))).toBe(expected)
    expect(pretty(bytes(expected))).toBe(expected)
    if (text.length < 100_000) expect(pretty(...[...bytes(text)].map((byte) => Uint8Array.of(byte)))).toBe(expected)
  })

  it('keeps the text of decimals', () => expect(pretty(bytes('{"value":1.10}'))).toBe('{\n  "value": 1.10\n}\n'))

  it('consists of pieces of at most 64 kB', () => {
    const pieces = [...indentJson([bytes(JSON.stringify(Array(100_000).fill({ a: 1 })))])]
    expect(pieces.length).toBeGreaterThan(30)
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(66_000)
  })
})
