/** What lambdas/ports/definitions/package-store.ts promises, and what is made of it where something is damaged, as tests: every adapter runs this suite. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { addManifest } from '../../lambdas/packages/manifest.ts'
import { PackagedDefinitions } from '../../lambdas/packages/packaged-definitions.ts'
import type { AddedPackages, PackageLabel, PackageStore } from '../../lambdas/ports/definitions/package-store.ts'

export type PackagesUnderTest = {
  /** Of two operators. */
  readonly stores: readonly [PackageStore, PackageStore]
  /** Of a server. `later`: until it sees what was done. */
  readonly server: AddedPackages
  readonly later: () => Promise<void>
  /** A file is another then; undefined: it is gone. */
  readonly spoil: (label: PackageLabel, file: string, text: string | undefined) => Promise<void>
  readonly close: () => Promise<void>
}

const URL = 'http://example.org/ValueSet/a'
/** Value sets as their file has them. */
const files = (label: PackageLabel, url = URL): ReadonlyMap<string, string> =>
  addManifest(label, new Map([['value-sets.json', JSON.stringify({ [url]: { url, version: label.version, include: [] } })]]))

export function packagesContract(name: string, create: () => Promise<PackagesUnderTest>): void {
  let here: PackagesUnderTest
  beforeAll(async () => {
    here = await create()
  })
  afterAll(() => here?.close())

  let count = 0
  const newLabel = (): PackageLabel => ({ name: `example.p${count++}`, version: '1.0.0-a' })
  const said = async (from: AddedPackages): Promise<readonly string[]> =>
    (await from.now()).packages.map((each) => `${each.name}@${each.version}`)
  const nameOf = ({ name, version }: PackageLabel): string => `${name}@${version}`

  describe(`${name}: a package`, () => {
    it('is readable as it was written until it is removed', async () => {
      const label = newLabel()
      const [store] = here.stores
      expect(await store.add(label, files(label))).toBe(true)
      expect(await said(store)).toEqual([nameOf(label)])
      await here.later()
      expect(await said(here.server)).toEqual([nameOf(label)])
      const kept = (await here.server.now()).packages[0]!
      for (const [file, text] of files(label)) expect(await kept.read(file)).toBe(text)
      expect([await kept.read('index.json'), await kept.isThere()]).toEqual([undefined, true])
      expect(await store.remove(label)).toBe(true)
      expect([await kept.isThere(), await kept.read('value-sets.json')]).toEqual([false, undefined])
      await here.later()
      expect([await said(store), await said(here.server)]).toEqual([[], []])
    })

    it('is added once and removed once by concurrent operators', async () => {
      const label = newLabel()
      const added = await Promise.all(here.stores.map((store) => store.add(label, files(label))))
      expect(added.toSorted()).toEqual([false, true])
      expect(await said(here.stores[1])).toEqual([nameOf(label)])
      const removed = await Promise.all(here.stores.map((store) => store.remove(label)))
      expect(removed.toSorted()).toEqual([false, true])
      expect(await here.stores[0].remove(label)).toBe(false)
    })

    it('is removed by its exact name and version only', async () => {
      const label = { name: 'example.one-2', version: '3.0.0' }
      const [store] = here.stores
      await store.add(label, files(label))
      for (const [name, version] of [
        ['example.one', '2-3.0.0'],
        ['example.one', '3.0.0'],
        ['example.one-2', '3.0'],
      ] as const)
        expect(await store.remove({ name, version })).toBe(false)
      expect(await said(store)).toEqual([nameOf(label)])
      expect(await store.remove(label)).toBe(true)
      await here.later()
    })

    it('is not lost by concurrent additions and removals', async () => {
      const labels = Array.from({ length: 6 }, newLabel)
      const gone = newLabel()
      await here.stores[0].add(gone, files(gone))
      const added = labels.map((label, i) => here.stores[i % 2]!.add(label, files(label)))
      expect(await Promise.all([...added, here.stores[1].remove(gone)])).toEqual([...labels, gone].map(() => true))
      expect(await said(here.stores[0])).toEqual(labels.map(nameOf).toSorted())
      await here.later()
      for (const kept of (await here.server.now()).packages) expect(await kept.read('value-sets.json')).toContain(URL)
      await Promise.all(labels.map((label, i) => here.stores[i % 2]!.remove(label)))
      await here.later()
    })

    it('changes the state with each addition, and only then', async () => {
      const states: string[] = []
      const note = async () => {
        await here.later()
        states.push((await here.server.now()).state)
      }
      await note()
      for (let i = 0; i < 5; i++) {
        const label = newLabel()
        await here.stores[0].add(label, files(label))
        await note()
      }
      expect(new Set(states).size).toBe(6)
      await note()
      expect(states.at(-1)).toBe(states.at(-2))
      for (const { name, version } of (await here.stores[0].now()).packages) await here.stores[1].remove({ name, version })
      await here.later()
    })
  })

  describe(`${name}: a damaged package`, () => {
    const OTHER = 'http://example.org/ValueSet/other'

    it.each([
      ['missing', 'value-sets.json', undefined, 'value-sets.json is missing'],
      ['cut off', 'value-sets.json', '{"http', 'value-sets.json is not as it was'],
      ['other JSON', 'value-sets.json', '{}', 'value-sets.json is not as it was'],
      ['empty', 'package.json', '', 'package.json does not say what is in it'],
      ['with files: null', 'package.json', '{"name":"a","version":"1","files":null}', 'package.json does not say what is in it'],
      ['without its list', 'package.json', undefined, 'package.json is missing'],
    ])('is reported and ignored, beside others, until it is added again: %s', async (_, file, text, what) => {
      const [label, other] = [newLabel(), newLabel()]
      await here.stores[0].add(label, files(label))
      await here.stores[0].add(other, files(other, OTHER))
      await here.spoil(label, file, text)
      await here.later()
      const told: string[] = []
      const definitions = new PackagedDefinitions({ own: [], added: here.server, onDamage: (each) => told.push(each) })
      const isFound = async () => [await definitions.valueSet(URL), await definitions.valueSet(OTHER)].map((each) => each !== undefined)
      // Without its list a file is not compared with anything.
      expect(await isFound()).toEqual([file === 'package.json', true])
      expect(await isFound()).toEqual([file === 'package.json', true])
      const sentence = `The package ${label.name} ${label.version} is damaged: ${what}. Remove it, and add it again`
      expect([definitions.damage(), told]).toEqual([[sentence], [sentence]])
      await here.later()
      await here.stores[0].remove(label)
      await here.stores[0].add(label, files(label))
      await here.later()
      expect([await isFound(), definitions.damage(), told.length]).toEqual([[true, true], [], 1])
      for (const each of [label, other]) await here.stores[0].remove(each)
      await here.later()
    })

    it('is not reported for a package that was removed during a read', async () => {
      const label = newLabel()
      await here.stores[0].add(label, files(label))
      await here.later()
      const definitions = new PackagedDefinitions({ own: [], added: here.server })
      await definitions.state()
      const kept = (await here.server.now()).packages[0]!
      await here.stores[0].remove(label)
      const frozen = new PackagedDefinitions({ own: [], added: { now: async () => ({ state: 'frozen', packages: [kept] }) } })
      expect([await frozen.valueSet(URL), frozen.damage()]).toEqual([undefined, []])
      await here.later()
    })
  })
}
