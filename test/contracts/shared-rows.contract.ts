/** Contract of lambdas/ports/rows/shared-rows.ts. Every adapter runs this suite. */
import { describe, expect, it } from '@jest/globals'
import { MAX_WRITTEN_ROWS, type RowName, type SharedRows } from '../../lambdas/ports/rows/shared-rows.ts'

type Root = readonly number[]
type Shared = SharedRows<Root, string>

const rowOf = (owner: string, value: unknown, kind = 'D') => ({ kind, owner, value })
const named = (owner: string, kind = 'D'): RowName => ({ kind, owner })
const TEXTS = ['', '#', 'ä💊', '__proto__', 'a#b', 'x'.repeat(64)]

/** `open`: opens a value with the root [] as another process would; all calls of one `create` open the same value. */
export function sharedRowsContract(name: string, create: () => Promise<() => Shared>): void {
  const opened = async () => {
    const open = await create()
    return { here: open(), there: open() }
  }
  const valuesOf = async (of: Shared, ...names: readonly RowName[]) => of.rows(names, await of.root())

  describe(`${name}: shared rows`, () => {
    it('begin with the first root, without summary and rows', async () => {
      const { here } = await opened()
      expect(await here.root()).toEqual({ number: 0, value: [], stamps: {}, isForeign: false })
      expect([await here.summary(), await valuesOf(here, named('a')), await here.list('D', 3)]).toEqual([undefined, [undefined], []])
    })

    it('show root, summary and rows of a write to every process', async () => {
      const { here, there } = await opened()
      const rows = TEXTS.map((owner, i) => rowOf(owner, { i, owner }))
      expect(await here.write(await here.root(), { root: [1], summary: 'one', rows: [...rows, rowOf('', ['u'], 'U')] })).toBe(true)
      for (const side of [here, there]) {
        expect(await side.root()).toMatchObject({ number: 1, value: [1], isForeign: false })
        expect(await side.summary()).toMatchObject({ number: 1, value: 'one' })
        const names = TEXTS.map((owner) => named(owner))
        expect(await valuesOf(side, ...names, named('b'), named('', 'U'))).toEqual([...rows.map(({ value }) => value), undefined, ['u']])
        const listed = await side.list('D', 3)
        expect(listed.toSorted((a, b) => (a.owner < b.owner ? -1 : 1))).toEqual(
          rows.map(({ owner, value }) => ({ owner, value })).toSorted((a, b) => (a.owner < b.owner ? -1 : 1)),
        )
      }
    })

    it('keep the summary and the rows if a write has neither', async () => {
      const { here, there } = await opened()
      await here.write(await here.root(), { root: [1], summary: 'one', rows: [rowOf('a', 1)] })
      await there.write(await there.root(), { root: [2] })
      expect([(await here.root()).value, (await here.summary())?.value, await valuesOf(here, named('a'))]).toEqual([[2], 'one', [1]])
    })

    it('change nothing if another write came first', async () => {
      const { here, there } = await opened()
      const before = await here.root()
      await there.write(await there.root(), { root: [1], summary: 'one', rows: [rowOf('a', 1)] })
      expect(await here.write(before, { root: [2], summary: 'two', rows: [rowOf('a', 2), rowOf('b', 2)] })).toBe(false)
      expect(await here.write(before, { root: [3] })).toBe(false)
      expect([(await here.root()).value, (await here.summary())?.value, await valuesOf(here, named('a'), named('b'))]).toEqual([
        [1],
        'one',
        [1, undefined],
      ])
    })

    it('lose none of many concurrent writes', async () => {
      const { here, there } = await opened()
      const add = async (side: Shared, i: number): Promise<void> => {
        for (let attempt = 1; ; attempt++) {
          const before = await side.root()
          const [row = 0] = (await side.rows([named('sum')], before)) as readonly number[]
          const after = { root: [...before.value, i], summary: String(i), rows: [rowOf('sum', row + i)] }
          if (await side.write(before, after)) return
          await side.pause(attempt)
        }
      }
      await Promise.all(Array.from({ length: 10 }, (_, i) => add(i % 2 === 0 ? here : there, i)))
      const { number, value } = await here.root()
      expect([number, value.toSorted((a, b) => a - b)]).toEqual([10, Array.from({ length: 10 }, (_, i) => i)])
      expect([await valuesOf(here, named('sum')), (await there.summary())?.value]).toEqual([[45], String(value.at(-1))])
    })

    it('show each change of a row, also of one that is cached or was absent', async () => {
      const { here, there } = await opened()
      const seen = async () => [...(await valuesOf(here, named('a'))), ...(await here.rows([named('a')], (await here.summary())!))]
      await there.write(await there.root(), { root: [1], summary: 's', rows: [rowOf('b', 'b')] })
      expect(await seen()).toEqual([undefined, undefined])
      for (const value of ['one', 'two', undefined, 'three']) {
        await there.write(await there.root(), { root: [1], summary: 's', rows: [rowOf('a', value)] })
        expect(await seen()).toEqual([value, value])
        await there.write(await there.root(), { root: [2] })
        expect(await seen()).toEqual([value, value])
      }
      expect(await here.list('D', 3)).toHaveLength(2)
    })

    it('accept the maximum number of rows in one write', async () => {
      const { here } = await opened()
      const rows = Array.from({ length: MAX_WRITTEN_ROWS }, (_, i) => rowOf(`t${i}`, i))
      expect(await here.write(await here.root(), { root: [], summary: '', rows })).toBe(true)
      expect(await here.list('D', 3)).toHaveLength(MAX_WRITTEN_ROWS)
      await expect(here.write(await here.root(), { root: [], summary: '', rows: [...rows, rowOf('more', 1)] })).rejects.toThrow(RangeError)
    })
  })
}
