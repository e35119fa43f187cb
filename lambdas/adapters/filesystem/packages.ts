/**
 * Packages, each in a folder of its own: NAME-VERSION, or NAME@VERSION if the first name is taken. `now` sees the changes of commands at
 * once.
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

/** Milliseconds within which a folder may change twice with the same modification time. */
const COARSE = 2_000

export class FilesystemPackages implements PackageStore {
  readonly #folder: string
  #now: PackageListing | undefined

  /** `folder`: created with the first package. */
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

  /**
   * Returns the possible folders of a package, in order of preference. The name `a-1` with version `2` and the name `a` with version `1-2`
   * both yield `a-1-2`, so the second package gets the other folder.
   */
  #placesOf({ name, version }: PackageLabel): readonly string[] {
    return [`${name}-${version}`, `${name}@${version}`].map((each) => join(this.#folder, each))
  }

  /** Returns the folder that contains the package, or undefined if there is none. */
  async #placeOf(label: PackageLabel): Promise<string | undefined> {
    for (const path of this.#placesOf(label)) if ((await isThere(path)) && isSamePackage(await labelled(path), label)) return path
    return undefined
  }

  async #folders(): Promise<readonly string[]> {
    return (await packagesIn(this.#folder)).map((name) => join(this.#folder, name))
  }
}

/** Returns the package of a folder, with the name and version in the folder's name NAME-VERSION or NAME@VERSION. */
export function packageOfFolder(folder: string): StoredPackage {
  const [, name = '', version = ''] = /^([^@]*)@(.*)$/.exec(basename(folder)) ??
    /^(.*?)-(\d.*)$/.exec(basename(folder)) ?? ['', basename(folder)]
  return {
    ...{ name, version },
    isThere: () => isThere(folder),
    read: (file) => readFile(join(folder, file), 'utf8').catch(undefinedWhereMissing),
  }
}

/**
 * Returns the package of a folder. Its package.json decides name and version if it matches the folder's name, because NAME-VERSION is
 * ambiguous.
 */
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

/** Returns the names of the package folders in ascending order, or none if the parent folder does not exist. */
async function packagesIn(folder: string): Promise<readonly string[]> {
  const entries = (await readdir(folder, { withFileTypes: true }).catch(undefinedWhereMissing)) ?? []
  const names = entries.filter((entry) => entry.isDirectory() && !isUnfinished(entry.name)).map(({ name }) => name)
  return names.toSorted()
}

/**
 * Returns a text that differs after each change of the packages. After a recent change it includes the names, because another change may
 * have the same modification time.
 */
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
