/** Packages in folders, and their definitions. */
import { mkdirSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, it } from '@jest/globals'
import { FilesystemPackages, packageOfFolder } from '../../../lambdas/adapters/filesystem/packages.ts'
import { PackagedDefinitions } from '../../../lambdas/packages/packaged-definitions.ts'
import { definitionsOf } from '../../../lambdas/runtime/definitions.ts'
import { conformanceContract } from '../../contracts/conformance.contract.ts'
import { packagesContract } from '../../contracts/packages.contract.ts'
import { newFolder } from '../../fixtures/at-end.ts'
import { eventually } from '../../fixtures/eventually.ts'
import { packageLoader } from '../../fixtures/packages.ts'

/** Waits until the clock of the file system advances: its resolution is some milliseconds. */
async function tick(): Promise<void> {
  const file = join(newFolder(), 'clock')
  const now = (): bigint => {
    writeFileSync(file, '')
    return statSync(file, { bigint: true }).mtimeNs
  }
  const before = now()
  await eventually(now, { until: (time) => time > before, every: 1 })
}

const noClose = async () => undefined

packagesContract('Folders', async () => {
  const folder = join(newFolder(), 'packages')
  return {
    stores: [new FilesystemPackages(folder), new FilesystemPackages(folder)],
    server: new FilesystemPackages(folder),
    later: tick,
    async spoil({ name, version }, file, text) {
      const path = join(folder, `${name}-${version}`, file)
      if (text === undefined) rmSync(path)
      else writeFileSync(path, text)
    },
    close: noClose,
  }
})

conformanceContract('Folders', async () => {
  const store = new FilesystemPackages(join(newFolder(), 'packages'))
  const loading = packageLoader(store)
  const load: typeof loading = async (definitions) => {
    const takeAway = await tick().then(() => loading(definitions))
    return () => tick().then(takeAway)
  }
  return { conformance: definitionsOf(store), load, close: noClose }
})

const URL = 'http://example.org/ValueSet/a'
type Said = { readonly version: string; readonly from: string }

/** Writes a package in the form from before packages listed their files. */
function put(folder: string, said: Said | undefined): string {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'old', version: '1.0.0' }))
  writeFileSync(join(folder, 'value-sets.json'), JSON.stringify(said === undefined ? {} : { [URL]: { url: URL, include: [], ...said } }))
  return folder
}

let added: string
beforeEach(() => {
  added = newFolder()
})

const over = (folder: string, ...own: readonly string[]) =>
  new PackagedDefinitions({ own: own.map(packageOfFolder), added: new FilesystemPackages(folder) })
const from = async (packages: PackagedDefinitions): Promise<unknown> =>
  ((await packages.valueSet(URL)) as unknown as Said | undefined)?.from

it('A definition of the server wins over an added one of the same version', async () => {
  const own = [put(newFolder(), undefined), put(newFolder(), { version: '1.0.0', from: 'own' })]
  put(join(added, 'a'), { version: '1.0.0', from: 'a' })
  expect(await from(over(added, ...own))).toBe('own')
})

it('The state changes after each addition, even if the folder time stays the same', async () => {
  const packages = over(added)
  const states = [await packages.state()]
  for (let i = 0; i < 20; i++) {
    put(join(added, `p${i}.unfinished`), { version: `1.${i}.0`, from: `p${i}` })
    renameSync(join(added, `p${i}.unfinished`), join(added, `p${i}`))
    // Simulates a file system clock that stands still.
    const now = new Date(Math.floor(Date.now() / 1_000) * 1_000)
    utimesSync(added, now, now)
    states.push(await packages.state())
    expect(await from(packages)).toBe(`p${i}`)
  }
  expect(new Set(states).size).toBe(states.length)
  expect(await packages.state()).toBe(states.at(-1))
})

it('Unfinished packages, plain files and missing folders provide no definitions', async () => {
  put(join(added, 'a.unfinished'), { version: '1.0.0', from: 'unfinished' })
  writeFileSync(join(added, 'lock.db'), '')
  expect(await from(over(added))).toBeUndefined()
  expect(await from(over(join(added, 'missing')))).toBeUndefined()
})

it('The name in package.json decides if it matches the folder', async () => {
  const label = { name: 'example.rules-2x', version: '1.0.0' }
  const store = new FilesystemPackages(added)
  await store.add(label, new Map([['package.json', JSON.stringify(label)]]))
  expect((await store.now()).packages.map(({ name, version }) => ({ name, version }))).toEqual([label])
  writeFileSync(join(added, 'example.rules-2x-1.0.0', 'package.json'), JSON.stringify({ name: 'other', version: '1.0.0' }))
  expect((await new FilesystemPackages(added).now()).packages.map(({ name }) => name)).toEqual(['example.rules'])
})

it('Two packages with the same joined name and version coexist and are removed separately', async () => {
  const [one, other] = [
    { name: 'example.one', version: '2-3.0.0' },
    { name: 'example.one-2', version: '3.0.0' },
  ]
  const files = (label: object) => new Map([['package.json', JSON.stringify(label)]])
  const labels = async () => (await new FilesystemPackages(added).now()).packages.map(({ name, version }) => ({ name, version }))
  const store = new FilesystemPackages(added)
  for (const label of [one, other]) expect(await store.add(label, files(label))).toBe(true)
  for (const label of [one, other]) expect(await store.add(label, files(label))).toBe(false)
  expect(await labels()).toEqual([one, other])
  expect(await store.remove(one)).toBe(true)
  expect([await labels(), await store.remove(one)]).toEqual([[other], false])
  // The remaining package is stored under the alternative folder name.
  expect(await store.add(other, files(other))).toBe(false)
  expect(await store.add(one, files(one))).toBe(true)
  expect(await store.remove(other)).toBe(true)
  expect(await labels()).toEqual([one])
})

it('Definitions of the server are built in; definitions of added packages are not', async () => {
  const PROFILE = 'http://example.org/StructureDefinition/a'
  const first = newFolder()
  for (const [folder, version] of [
    [first, '1.0.0'],
    [put(join(added, 'a'), undefined), '2.0.0'],
  ] as const) {
    writeFileSync(join(folder, 'index.json'), JSON.stringify({ [PROFILE]: 'Patient' }))
    writeFileSync(join(folder, 'Patient.json'), JSON.stringify({ [PROFILE]: { url: PROFILE, version, elements: [] } }))
  }
  expect((await over(newFolder(), first).profile(PROFILE))?.isBuiltIn).toBe(true)
  const { version, isBuiltIn = false } = (await over(added, put(newFolder(), undefined), first).profile(PROFILE)) ?? {}
  expect([version, isBuiltIn]).toEqual(['2.0.0', false])
})
