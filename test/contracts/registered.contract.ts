/** What is promised alike of clients and of users: kept by name, changed one after the other. */
import { describe, expect, it } from '@jest/globals'

/** As Clients and Users are. */
export type Registrations<Entry> = {
  get(name: string): Promise<Entry | undefined>
  list(): Promise<readonly Entry[]>
  change(name: string, change: (entry: Entry | undefined) => Entry | undefined): Promise<Entry | undefined>
}

export type RegistrationsUnderTest<Store> = {
  /** Each time as another process would open it; what was opened is closed at the end. */
  readonly open: () => Promise<Store>
  /** Is another one after each write, and only then. */
  readonly written: () => unknown
}

export type RegistrationsParts<Entry> = {
  /** `tags`: scopes. */
  readonly make: (name: string, tags: readonly string[]) => Entry
  readonly tagsOf: (entry: Entry) => readonly string[]
  readonly nameOf: (entry: Entry) => string
  /** In order. */
  readonly names: readonly string[]
  readonly strange: readonly string[]
}

const STRANGE = [
  '',
  ' ',
  'a b',
  'a#b',
  'a/b',
  'a\n',
  '\u0000',
  'ä',
  '💊',
  '\ud800',
  "' OR 1=1 --",
  '%',
  'a'.repeat(129),
  'a'.repeat(100_000),
]

export function registrationsContract<Entry>(
  name: string,
  create: () => Promise<RegistrationsUnderTest<Registrations<Entry>>>,
  { make, tagsOf, nameOf, names, strange }: RegistrationsParts<Entry>,
): void {
  const opened = async () => {
    const under = await create()
    return { ...under, here: await under.open(), there: await under.open() }
  }

  describe(name, () => {
    it('are readable by every process after a change, and gone once removed', async () => {
      const { here, there } = await opened()
      expect([await here.get('a'), await here.list()]).toEqual([undefined, []])
      expect(await here.change('a', () => make('a', ['1']))).toEqual(make('a', ['1']))
      expect([await there.get('a'), await there.list()]).toEqual([make('a', ['1']), [make('a', ['1'])]])
      expect(await there.change('a', (entry) => make('a', [...tagsOf(entry!), '2']))).toEqual(make('a', ['1', '2']))
      expect(await here.get('a')).toEqual(make('a', ['1', '2']))
      expect(await here.change('a', () => undefined)).toBeUndefined()
      expect([await there.get('a'), await there.list()]).toEqual([undefined, []])
      await there.change('a', (entry) => entry ?? make('a', ['3']))
      expect(await here.get('a')).toEqual(make('a', ['3']))
    })

    it('lose none of several concurrent changes from two sides', async () => {
      const { here, there } = await opened()
      const racers = Array.from({ length: 12 }, (_, i) => String(i))
      await Promise.all(
        racers.map((racer, i) =>
          (i % 2 === 0 ? here : there).change('a', (entry) => make('a', [...(entry === undefined ? [] : tagsOf(entry)), racer])),
        ),
      )
      const entry = await here.get('a')
      expect(tagsOf(entry!).toSorted()).toEqual(racers.toSorted())
    })

    it('are created by one of several concurrent calls, and removed by one', async () => {
      const { here, there } = await opened()
      const sides = Array.from({ length: 8 }, (_, i) => (i % 2 === 0 ? here : there))
      const made = await Promise.all(sides.map((side, i) => side.change('a', (entry) => entry ?? make('a', [String(i)]))))
      expect(new Set(made.map((entry) => tagsOf(entry!)[0])).size).toBe(1)
      const removals: number[] = []
      await Promise.all(
        sides.map(async (side, i) => {
          let found: Entry | undefined
          await side.change('a', (entry) => {
            found = entry
            return undefined
          })
          if (found !== undefined) removals.push(i)
        }),
      )
      expect(removals).toHaveLength(1)
    })

    it('are not written if nothing changes or the change throws', async () => {
      const { here, written } = await opened()
      await here.change('a', () => make('a', ['1']))
      const before = written()
      expect(await here.change('a', (entry) => entry)).toEqual(make('a', ['1']))
      expect(await here.change('b', () => undefined)).toBeUndefined()
      const failing = here.change('a', () => {
        throw new Error('not like this')
      })
      await expect(failing).rejects.toThrow('not like this')
      expect(written()).toEqual(before)
      await here.change('a', () => make('a', ['2']))
      expect([await here.get('a'), written() === before]).toEqual([make('a', ['2']), false])
    })

    it('are listed in the order of their names', async () => {
      const { here, there } = await opened()
      for (const each of names.toReversed()) await here.change(each, () => make(each, [each]))
      expect((await there.list()).map(nameOf)).toEqual(names)
      for (const each of names) expect(await there.get(each)).toEqual(make(each, [each]))
    })

    it('have names with a meaning in JavaScript, which are unused at first', async () => {
      const { here } = await opened()
      for (const each of ['constructor', '__proto__', '..', '.', '-', 'null']) {
        expect(await here.get(each)).toBeUndefined()
        await here.change(each, () => make(each, ['1']))
        expect(await here.get(each)).toEqual(make(each, ['1']))
      }
      expect(await here.list()).toHaveLength(6)
    })

    it('are neither found nor created by malformed names', async () => {
      const { here } = await opened()
      for (const each of [...STRANGE, ...strange]) {
        expect(await here.get(each)).toBeUndefined()
        await expect(here.change(each, () => make(each, []))).rejects.toThrow(RangeError)
      }
      await expect(here.change('a', () => make('b', []))).rejects.toThrow(RangeError)
      expect(await here.list()).toEqual([])
    })

    it('hold large values with every character', async () => {
      const { here, there } = await opened()
      const tags = [
        '💊 "\\ \u0000\u2028 ä ',
        '\ud800',
        ...Array.from({ length: 900 }, (_, i) => `${i} patient/Observation.rs?category=${'x'.repeat(60)}`),
      ]
      await here.change('a', () => make('a', tags))
      expect(await there.get('a')).toEqual(make('a', tags))
      expect(await there.list()).toEqual([make('a', tags)])
    })

    it('are listed completely across pages', async () => {
      const { here } = await opened()
      const many = Array.from({ length: 40 }, (_, i) => `n${String(i).padStart(3, '0')}`)
      // Together more than a page of any engine.
      const tags = ['x'.repeat(50_000)]
      for (const each of many) await here.change(each, () => make(each, tags))
      expect((await here.list()).map(nameOf)).toEqual(many)
    })
  })
}
