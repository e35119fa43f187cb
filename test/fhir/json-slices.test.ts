/** An array that is cut out of JSON has the items that parsing the whole JSON has. */
import { describe, expect, it } from '@jest/globals'
import { sliceArray } from '../../lambdas/fhir/json-slices.ts'

/** Returns the items of the array `list`, and the rest of the object. */
async function slicedOf(text: string) {
  const { slices, rest } = await sliceArray(Buffer.from(text), 'list')
  return {
    slices,
    items: slices.flatMap((slice) => JSON.parse(`[${slice}]`) as unknown[]),
    rest: JSON.parse(Buffer.concat(rest).toString()) as Readonly<Record<string, unknown>>,
  }
}

const LONG = Array.from({ length: 5_000 }, (_, i) => ({ i, text: `${'x'.repeat(i % 70)}"]},[{\\` }))
const DEEP = [[['a,b'], { list: ['c'] }], { list: [1, 2] }, 'list', null, -1.5, true]

describe('a sliced array', () => {
  it.each<[what: string, tree: object]>([
    ['no item', { a: 1, list: [] }],
    ['nested lists', { list: DEEP, a: 1 }],
    ['many items', { a: { list: [1] }, list: LONG, b: [{ list: [2] }] }],
    ['names that look like it', { 'list"': ['a'], '"list': ['b'], lists: ['c'], a: 'list', b: ['list', ['d']], list: ['e'] }],
    ['texts of every length in bytes', { ä: '€', list: ['ä', '€', '😀', '\u{1}', '"', '\\', '\\"', ''] }],
  ])('has the items of the whole JSON: %s', async (_, tree) => {
    for (const text of [JSON.stringify(tree), JSON.stringify(tree, null, '\n\t ')]) {
      const { items, rest } = await slicedOf(text)
      expect(rest).toEqual({ ...tree, list: [] })
      expect(items).toEqual((tree as { readonly list: unknown }).list)
    }
  })

  it.each<[what: string, text: string]>([
    ['an array whose name has escapes', '{"l\\u0069st":["a"]}'],
    ['a text', '{"list":"a"}'],
    ['an object', '{"list":{"list":["a"]}}'],
    ['an object after a text', '{"a":"list","b":["a"]}'],
    ['an array', '[["list",["a"]]]'],
  ])('leaves other values in the rest: %s', async (_, text) => {
    const { items, rest } = await slicedOf(text)
    expect({ items, rest }).toEqual({ items: [], rest: JSON.parse(text) })
  })

  it('consists of slices of about 64 kB, between which other work can run', async () => {
    const text = JSON.stringify({ list: LONG })
    let pauses = 0
    const { slices } = await sliceArray(Buffer.from(text), 'list', async () => void pauses++)
    expect(slices.length).toBeGreaterThan(3)
    expect(Math.max(...slices.map(({ length }) => length))).toBeLessThan(65_536 + 200)
    expect(pauses).toBe(slices.length - 1)
  })
})
