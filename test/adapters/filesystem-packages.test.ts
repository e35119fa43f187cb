/** Definitions in folders of packages: whose counts where several say the same. */
import { mkdirSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, it } from '@jest/globals'
import { FilesystemPackages } from '../../lambdas/adapters/filesystem/packages.ts'
import { newFolder } from '../fixtures/at-end.ts'

const URL = 'http://example.org/ValueSet/a'
type Said = { readonly version: string; readonly isRetired?: true; readonly from: string }

function put(folder: string, said: Said | undefined): string {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'value-sets.json'), JSON.stringify(said === undefined ? {} : { [URL]: { url: URL, include: [], ...said } }))
  return folder
}

let added: string
let first: string
beforeEach(() => {
  added = newFolder()
  first = newFolder()
})

async function from(packages: FilesystemPackages, canonical = URL): Promise<unknown> {
  return ((await packages.valueSet(canonical)) as unknown as Said | undefined)?.from
}

it('the newest by its version, what is retired last, each by its own', async () => {
  put(first, undefined)
  const versions = ['1.9.0', '1.10.0-ballot', '1.10.0', '1.10.0-alpha'].map((version) => ({ version, from: version }))
  for (const said of versions) put(join(added, said.version), said)
  put(join(added, 'retired'), { version: '2.0.0', isRetired: true, from: 'retired' })
  const packages = new FilesystemPackages([first], added)
  expect(await from(packages)).toBe('1.10.0')
  for (const { version } of versions) expect(await from(packages, `${URL}|${version}`)).toBe(version)
  expect(await from(packages, `${URL}|2.0.0`)).toBe('retired')
  for (const { version } of versions) rmSync(join(added, version), { recursive: true })
  expect(await from(packages)).toBe('retired')
})

it('what R4 says, whatever others do; theirs by its version', async () => {
  put(first, { version: '4.0.1', from: 'R4' })
  put(join(added, 'b'), { version: '9.0.0', from: 'b' })
  put(join(added, 'c'), { version: '4.0.1', from: 'c' })
  const packages = new FilesystemPackages([first], added)
  expect([await from(packages), await from(packages, `${URL}|4.0.1`), await from(packages, `${URL}|9.0.0`)]).toEqual(['R4', 'R4', 'b'])
})

it('what a server has before what is added, where both are of one version', async () => {
  const own = [put(first, undefined), put(newFolder(), { version: '1.0.0', from: 'own' })]
  put(join(added, 'a'), { version: '1.0.0', from: 'a' })
  expect(await from(new FilesystemPackages(own, added))).toBe('own')
})

it('has another state after each change, however soon it follows, and reads again what took the place of another', async () => {
  put(first, undefined)
  const packages = new FilesystemPackages([first], added)
  const states = [await packages.state()]
  for (let i = 0; i < 20; i++) {
    put(join(added, `p${i}.unfinished`), { version: `1.${i}.0`, from: `p${i}` })
    renameSync(join(added, `p${i}.unfinished`), join(added, `p${i}`))
    // As where the clock of the file system stands still.
    const now = new Date(Math.floor(Date.now() / 1_000) * 1_000)
    utimesSync(added, now, now)
    states.push(await packages.state())
    expect(await from(packages)).toBe(`p${i}`)
  }
  expect(new Set(states).size).toBe(states.length)
  expect(await packages.state()).toBe(states.at(-1))
})

it('has none of what is not finished, is no folder, or was removed', async () => {
  put(first, undefined)
  put(join(added, 'a.unfinished'), { version: '1.0.0', from: 'unfinished' })
  writeFileSync(join(added, 'lock.db'), '')
  expect(await from(new FilesystemPackages([first], added))).toBeUndefined()
  expect(await from(new FilesystemPackages([first], join(added, 'missing')))).toBeUndefined()
})

it('what every server has is built in, what is added is not', async () => {
  const PROFILE = 'http://example.org/StructureDefinition/a'
  for (const [folder, version] of [
    [first, '1.0.0'],
    [join(added, 'a'), '2.0.0'],
  ] as const) {
    // biome-ignore format: two
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'index.json'), JSON.stringify({ [PROFILE]: 'Patient' }))
    writeFileSync(join(folder, 'Patient.json'), JSON.stringify({ [PROFILE]: { url: PROFILE, version, elements: [] } }))
  }
  expect((await new FilesystemPackages([first]).profile(PROFILE))?.isBuiltIn).toBe(true)
  const { version, isBuiltIn = false } = (await new FilesystemPackages([newFolderWithIndex(), first], added).profile(PROFILE)) ?? {}
  expect([version, isBuiltIn]).toEqual(['2.0.0', false])
})

/** A package that says nothing. */
function newFolderWithIndex(): string {
  const folder = newFolder()
  writeFileSync(join(folder, 'index.json'), '{}')
  return folder
}
