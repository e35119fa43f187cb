/**
 * Packages in a folder, each in a folder of its own: NAME-VERSION, or NAME@VERSION where another has that. A server sees at once what a command
 * does in it.
 */
import { readdir, readFile, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import {
  isSamePackage,
  type PackageLabel,
  type PackageListing,
  type PackageStore,
  type StoredPackage,
} from '../../ports/definitions/package-store.ts'
import { isMissing, isUnfinished } from './durable-file.ts'
import { addFolder, removeFolder, runExclusively } from './package-folders.ts'

/** Milliseconds for which a folder may change again without another time of its change. */
const COARSE = 2_000

export class FilesystemPackages implements PackageStore {
  readonly #folder: string
  #now: PackageListing | undefined

  /** `folder`: made when the first one is added. */
  constructor(folder: string) {
    this.#folder = folder
  }

  async now(): Promise<PackageListing> {
    const state = await stateOf(this.#folder)
    if (state !== this.#now?.state) this.#now = { state, packages: await Promise.all((await this.#folders()).map(labelled)) }
    return this.#now!
  }

  add(label: PackageLabel, files: ReadonlyMap<string, string>): Promise<boolean> {
    return runExclusively(this.#folder, async () => {
      if ((await this.#placeOf(label)) !== undefined) return false
      const taken = await Promise.all(this.#placesOf(label).map(isThere))
      const free = this.#placesOf(label).find((_, i) => !taken[i])
      if (free === undefined) return false
      await addFolder(this.#folder, free, files)
      return true
    })
  }

  remove(label: PackageLabel): Promise<boolean> {
    return runExclusively(this.#folder, async () => {
      const path = await this.#placeOf(label)
      if (path === undefined) return false
      await removeFolder(this.#folder, path)
      return true
    })
  }

  /** Where a name ends as a version begins, two packages would have a folder of the same name: the second has the other. */
  #placesOf({ name, version }: PackageLabel): readonly string[] {
    return [`${name}-${version}`, `${name}@${version}`].map((each) => join(this.#folder, each))
  }

  /** undefined: it is not there. */
  async #placeOf(label: PackageLabel): Promise<string | undefined> {
    for (const path of this.#placesOf(label)) if ((await isThere(path)) && isSamePackage(await labelled(path), label)) return path
    return undefined
  }

  async #folders(): Promise<readonly string[]> {
    return (await packagesIn(this.#folder)).map((name) => join(this.#folder, name))
  }
}

/** That of a folder, which is named NAME-VERSION, or NAME@VERSION. */
export function packageOfFolder(folder: string): StoredPackage {
  const [, name = '', version = ''] = /^([^@]*)@(.*)$/.exec(basename(folder)) ??
    /^(.*?)-(\d.*)$/.exec(basename(folder)) ?? ['', basename(folder)]
  return {
    ...{ name, version },
    isThere: () => isThere(folder),
    read: (file) => readFile(join(folder, file), 'utf8').catch(undefinedWhereMissing),
  }
}

/** By what it says itself, where that can be read: a name may end as a version begins. */
async function labelled(folder: string): Promise<StoredPackage> {
  const kept = packageOfFolder(folder)
  const { name, version } = await kept
    .read('package.json')
    .then(
      (text = '') => JSON.parse(text),
      () => ({}),
    )
    .catch(() => ({}))
  return `${name}-${version}` === basename(folder) ? { ...kept, name, version } : kept
}

const isThere = async (folder: string): Promise<boolean> => (await stat(folder).catch(undefinedWhereMissing)) !== undefined

/** Their names in order; none when there is no folder. */
async function packagesIn(folder: string): Promise<readonly string[]> {
  const entries = (await readdir(folder, { withFileTypes: true }).catch(undefinedWhereMissing)) ?? []
  const names = entries.filter((entry) => entry.isDirectory() && !isUnfinished(entry.name)).map(({ name }) => name)
  return names.toSorted()
}

/** Another one after each change. A clock of the file system stands still for some milliseconds, in which names tell. */
async function stateOf(folder: string): Promise<string> {
  const found = await stat(folder, { bigint: true }).catch(undefinedWhereMissing)
  if (found === undefined) return 'none'
  const isRecent = Math.abs(Date.now() - Number(found.mtimeNs / 1_000_000n)) < COARSE
  return `${found.ino} ${found.mtimeNs} ${isRecent ? (await packagesIn(folder)).join() : ''}`
}

function undefinedWhereMissing(error: unknown): undefined {
  if (isMissing(error)) return undefined
  throw error
}
