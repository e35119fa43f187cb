/** What lambdas/ports/rows/rows.ts promises, as tests: every adapter runs this suite. */
import { describe, expect, it } from '@jest/globals'
import type { Rows } from '../../lambdas/ports/rows/rows.ts'

export type RowsUnderTest = {
  /** Each time as another process would open it; what was opened is closed at the end. */
  readonly open: () => Promise<Rows>
  /** Rows written so far, by all of them. */
  readonly written: () => number | Promise<number>
}

type Counter = { readonly n: number; readonly by?: readonly string[] }

const INVALID_OWNERS = ['', 'a b', 'a#b', 'a.b', 'ä', 'a\n', '%', "'", 's'.repeat(201)]
const NO_NAMES = ['', 'a/b', 'a b', 'ä', 'a\n', '%', "'", 'n'.repeat(201)]
const NAMES = ['-', '.', '..', '0', '10', '9', 'A', 'Z', '_', '__proto__', 'a', 'a.b', 'constructor', 'n'.repeat(200)]

export function rowsContract(name: string, create: () => Promise<RowsUnderTest>): void {
  const opened = async () => {
    const under = await create()
    return { ...under, here: await under.open(), there: await under.open() }
  }
  const listed = async (rows: Rows, owner: string) => {
    const found: { readonly name: string; readonly value: unknown }[] = []
    for await (const row of rows.list<unknown>(owner)) found.push(row)
    return found
  }
  const namesOn = async (rows: Rows, owner: string) => (await listed(rows, owner)).map((row) => row.name)

  describe(`${name}: rows`, () => {
    it('are readable by every process until they are removed', async () => {
      const { here, there } = await opened()
      const value = { a: [1, null, 'ä💊\u2028\u0000', { b: {} }], n: 1.5, yes: true }
      expect(await here.read('exports', 'a')).toBeUndefined()
      expect(await here.change('exports', 'a', () => value)).toEqual(value)
      expect(await there.read('exports', 'a')).toEqual(value)
      expect(await listed(there, 'exports')).toEqual([{ name: 'a', value }])
      await there.remove('exports', 'a')
      await here.remove('exports', 'a')
      expect([await here.read('exports', 'a'), await listed(here, 'exports')]).toEqual([undefined, []])
    })

    it('are retained for processes that open the store later', async () => {
      const { here, open } = await opened()
      await here.change('exports', 'a', () => 1)
      await here.change('exports', 'b', () => 2)
      await here.remove('exports', 'b')
      expect(await listed(await open(), 'exports')).toEqual([{ name: 'a', value: 1 }])
    })

    it('hold any JSON, null and empty values included', async () => {
      const { here, there } = await opened()
      const values = [null, false, 0, '', [], {}, 'text', -1.5e-7]
      for (const [i, value] of values.entries()) expect(await here.change<unknown>('s', `${i}`, () => value)).toEqual(value)
      expect((await listed(there, 's')).map(({ value }) => value)).toEqual(values)
    })

    it('lose none of several concurrent changes from two sides', async () => {
      const { here, there } = await opened()
      const racers = Array.from({ length: 24 }, (_, i) => `r${i}`)
      const add = (racer: string) => (known?: Counter) => ({ n: (known?.n ?? 0) + 1, by: [...(known?.by ?? []), racer] })
      const seen = await Promise.all(racers.map((racer, i) => (i % 2 === 0 ? here : there).change<Counter>('s', 'c', add(racer))))
      const last = (await here.read<Counter>('s', 'c'))!
      expect([last.n, last.by?.toSorted()]).toEqual([24, racers.toSorted()])
      // Each saw what it came to by its own change.
      expect(seen.map((each) => each!.n).toSorted((a, b) => a - b)).toEqual(racers.map((_, i) => i + 1))
      expect(seen.every((each, i) => each!.by![each!.n - 1] === racers[i])).toBe(true)
    })

    it('are created once by concurrent calls, and once more after removal', async () => {
      const { here, there } = await opened()
      for (let round = 0; round < 2; round++) {
        const made = await Promise.all(
          Array.from({ length: 10 }, (_, i) => (i % 2 === 0 ? here : there).change<number>('s', 'c', (known) => known ?? i)),
        )
        expect(new Set(made).size).toBe(1)
        expect(await there.read('s', 'c')).toBe(made[0])
        await here.remove('s', 'c')
      }
    })

    it('are not changed from a value that was removed and recreated', async () => {
      const { here, there } = await opened()
      await here.change<string>('s', 'c', () => 'before')
      const met: unknown[] = []
      let meanwhile: Promise<unknown> | undefined
      const changed = here.change<string>('s', 'c', (known) => {
        met.push(known)
        meanwhile ??= there.remove('s', 'c').then(() => there.change<string>('s', 'c', () => 'anew'))
        return `${known}, then mine`
      })
      await changed
      await meanwhile
      // Whichever came first: one of them came after the other, and knew of it.
      expect(['anew', 'anew, then mine']).toContain(await here.read('s', 'c'))
      expect(met[0]).toBe('before')
    })

    it('are not written if nothing changes, and the current value is returned', async () => {
      const { here, there, written } = await opened()
      await here.change<Counter>('s', 'c', () => ({ n: 1 }))
      const before = await written()
      expect(await there.change<Counter>('s', 'c', (known) => known)).toEqual({ n: 1 })
      expect(await there.change<Counter>('s', 'c', () => undefined)).toEqual({ n: 1 })
      expect(await there.change<Counter>('s', 'new', (known) => known)).toBeUndefined()
      expect(await written()).toBe(before)
      await there.change<Counter>('s', 'c', () => ({ n: 2 }))
      expect(await written()).toBeGreaterThan(before)
      expect(await namesOn(here, 's')).toEqual(['c'])
    })

    it('stay unchanged if a change throws', async () => {
      const { here } = await opened()
      await here.change('s', 'c', () => 1)
      const failing = here.change('s', 'c', () => {
        throw new Error('no')
      })
      await expect(failing).rejects.toThrow('no')
      expect(await here.read('s', 'c')).toBe(1)
      expect(await here.change('s', 'c', () => 2)).toBe(2)
    })

    it('are listed by name with their values, for one owner', async () => {
      const { here, there } = await opened()
      const owners = ['exports', 'exports/', 'exports/x', 'exports/x/segments', 'exports/x-', 'Exports', 'export', 's'.repeat(200)]
      for (const owner of owners) await Promise.all(NAMES.toReversed().map((each) => here.change(owner, each, () => ({ owner, each }))))
      for (const owner of owners) expect(await listed(there, owner)).toEqual(NAMES.map((each) => ({ name: each, value: { owner, each } })))
      await here.remove('exports')
      await here.remove('exports/x', '__proto__')
      expect(await Promise.all(owners.map(async (owner) => (await namesOn(there, owner)).length))).toEqual([
        ...[0, NAMES.length, NAMES.length - 1],
        ...Array<number>(5).fill(NAMES.length),
      ])
    })

    it('are listed once each during concurrent changes', async () => {
      const { here, there } = await opened()
      const staying = Array.from({ length: 150 }, (_, i) => `m${String(i).padStart(3, '0')}`)
      await Promise.all(staying.map((each) => here.change('s', each, () => 1)))
      const seen: string[] = []
      for await (const row of here.list('s')) {
        seen.push(row.name)
        if (seen.length === 3) {
          await there.change('s', 'a', () => 1)
          await there.change('s', 'z', () => 1)
          await there.change('s', 'm000', () => 2)
        }
      }
      expect(seen.filter((each) => each.startsWith('m'))).toEqual(staying)
      expect(seen).toEqual([...new Set(seen)].toSorted())
    })

    it('hold many values of up to 300,000 bytes, and reject longer ones', async () => {
      const { here, there } = await opened()
      // Not to be made smaller.
      const large = (i: number) =>
        Array.from({ length: 75_000 }, (_, n) => ((n * 7919 + i * 104_729) ** 3 % 1000).toString(36).padStart(4, 'x'))
          .join('')
          .slice(0, 299_998)
      for (let i = 0; i < 6; i++) await here.change('s', `${i}`, () => large(i))
      for await (const { name: each, value } of there.list<string>('s')) expect(value === large(Number(each))).toBe(true)
      expect(await namesOn(there, 's')).toHaveLength(6)
      await expect(here.change('s', '0', () => `${large(0)}.`)).rejects.toThrow(RangeError)
      await expect(here.change('s', '9', () => 'ä'.repeat(150_000))).rejects.toThrow(RangeError)
      expect([await there.read('s', '9'), (await there.read<string>('s', '0'))?.length]).toEqual([undefined, 299_998])
    })

    it('are removed by owner, 2,000 of them', async () => {
      const { here, there } = await opened()
      const many = Array.from({ length: 2_000 }, (_, i) => `${i}`)
      for (let i = 0; i < many.length; i += 100)
        await Promise.all(many.slice(i, i + 100).map((each) => here.change('exports/x/segments', each, () => ({ each }))))
      await here.change('exports/y/segments', '1', () => 1)
      expect(await namesOn(there, 'exports/x/segments')).toEqual(many.toSorted())
      await there.remove('exports/x/segments')
      await there.remove('exports/x/segments')
      expect([await namesOn(here, 'exports/x/segments'), await namesOn(here, 'exports/y/segments')]).toEqual([[], ['1']])
    })

    it.each(INVALID_OWNERS.map((owner) => [owner]))('reject the owner %j with RangeError', async (owner) => {
      const { here } = await opened()
      await expect(here.read(owner, 'a')).rejects.toThrow(RangeError)
      await expect(here.change(owner, 'a', () => 1)).rejects.toThrow(RangeError)
      await expect(listed(here, owner)).rejects.toThrow(RangeError)
      await expect(here.remove(owner)).rejects.toThrow(RangeError)
    })

    it.each(NO_NAMES.map((each) => [each]))('reject the name %j with RangeError', async (each) => {
      const { here } = await opened()
      await here.change('s', 'a', () => 1)
      await expect(here.read('s', each)).rejects.toThrow(RangeError)
      await expect(here.change('s', each, () => 1)).rejects.toThrow(RangeError)
      await expect(here.remove('s', each)).rejects.toThrow(RangeError)
      expect(await namesOn(here, 's')).toEqual(['a'])
    })
  })
}
