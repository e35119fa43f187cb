/** Reads the files of a package. Loads each file at its first use, compares it with its digest in the manifest and caches it. */
import { LruCache } from '../fhir/profile/definitions/lru-cache.ts'
import { type PackageFile, shardOf } from '../fhir/profile/definitions/package-files.ts'
import type { PackageLabel, StoredPackage } from '../ports/definitions/package-store.ts'
import { digestOf, MANIFEST_FILE, type Manifest, parseJsonObject, parseManifest } from './manifest.ts'

/** Callback for damage to a package. `text`: which file cannot be used, why, and how to repair the package. */
export type OnDamage = (text: string) => void

/** Lists that may be split into numbered files, such as `value-sets-0` and `value-sets-1`. */
export type DefinitionList = 'value-sets' | 'code-systems'

/** Marks each definition as built into the server. Skips the texts in index files. */
function markBuiltIn(definitions: Readonly<Record<string, unknown>>): void {
  for (const each of Object.values(definitions)) if (typeof each === 'object') Object.assign(each as object, { isBuiltIn: true })
}

type Loaded = { readonly definitions: PackageFile<never>; readonly characters: number }

const NOTHING: Loaded = { definitions: Object.freeze(Object.create(null)), characters: 0 }

type Files = LruCache<Promise<PackageFile<never>>>

/**
 * Maximum characters of the files in the cache, as a measure of memory. Files that were not used recently are evicted. A single larger file
 * is cached alone.
 */
const MAX_CHARACTERS = 64_000_000

export const newFileCache = (maxCharacters = MAX_CHARACTERS): Files => new LruCache(maxCharacters)

/** Number of packages opened so far. It is part of each cache key, because a package that was removed and added again has other files. */
let opened = 0

export class PackageReader {
  readonly #package: StoredPackage
  readonly #onDamage: OnDamage
  readonly #isOwn: boolean
  readonly #files: Files
  readonly #number = ++opened
  #manifest: Promise<Manifest | undefined> | undefined
  #isDamaged = false

  /** `isOwn`: whether the package comes with the server, and has no manifest. `files`: cache, which several packages may share. */
  constructor(stored: StoredPackage, onDamage: OnDamage, isOwn = false, files = newFileCache()) {
    this.#files = files
    this.#package = stored
    this.#onDamage = onDamage
    this.#isOwn = isOwn
  }

  get label(): PackageLabel {
    const { name, version } = this.#package
    return { name, version }
  }

  /**
   * Returns the definitions of a file, by canonical URL. Returns an empty object if the file is missing or damaged. `file`: its name
   * without `.json`.
   */
  file<Definition>(file: string): Promise<PackageFile<Definition>> {
    const name = `${this.#number} ${file}`
    const cached = this.#files.get(name)
    if (cached !== undefined) return cached as Promise<PackageFile<Definition>>
    const loading = this.#load(`${file}.json`)
    const read = loading.then(({ definitions }) => definitions)
    this.#files.set(name, read, 0)
    loading.then(
      ({ characters }) => this.#files.set(name, read, characters),
      () => this.#files.delete(name),
    )
    return read
  }

  /**
   * Returns the definitions of a file that not every package has. Without digests the package was added by an earlier server, or its manifest
   * is damaged: then it has no such file. `file`: its name without `.json`.
   */
  async optionalFile<Definition>(file: string): Promise<PackageFile<Definition>> {
    const hasFile = this.#isOwn || Object.hasOwn((await this.manifest())?.files ?? {}, `${file}.json`)
    return hasFile ? this.file(file) : NOTHING.definitions
  }

  /** Returns the part of a list of definitions that holds the canonical URL, if the list has that URL. */
  async part<Definition>(list: DefinitionList, canonical: string): Promise<PackageFile<Definition>> {
    const parts = await this.#partsOf(list)
    return this.file(parts === 0 ? list : `${list}-${shardOf(canonical, parts)}`)
  }

  /** Returns the names of the files of a list of definitions, without `.json`. */
  async parts(list: DefinitionList): Promise<readonly string[]> {
    const parts = await this.#partsOf(list)
    return parts === 0 ? [list] : Array.from({ length: parts }, (_, i) => `${list}-${i}`)
  }

  /** Reads every file of the package. Returns true if no damage was found, now or before. */
  async isWhole(): Promise<boolean> {
    const files = Object.keys((await this.manifest())?.files ?? {}).map((file) => file.replace(/\.json$/, ''))
    const types = Object.values(await this.file<string>('index'))
    await Promise.all([...new Set(['index', 'value-sets', 'code-systems', ...types, ...files])].map((file) => this.file(file)))
    return !this.#isDamaged
  }

  async #partsOf(list: DefinitionList): Promise<number> {
    const files = Object.keys((await this.manifest())?.files ?? {})
    return files.filter((file) => file.startsWith(`${list}-`)).length
  }

  async #load(file: string): Promise<Loaded> {
    const digests = (await this.manifest())?.files
    if (digests !== undefined && !Object.hasOwn(digests, file)) return NOTHING
    const text = await this.#text(file)
    if (text === undefined) return NOTHING
    if (digests !== undefined && digestOf(text) !== digests[file]) return this.#damaged(`${file} is not as it was`)
    const definitions = parseJsonObject(text)
    if (definitions === undefined) return this.#damaged(`${file} is not JSON`)
    if (this.#isOwn) markBuiltIn(definitions)
    return { definitions: definitions as PackageFile<never>, characters: text.length }
  }

  /** Returns the manifest, or undefined if the package comes with the server, or its manifest is damaged. */
  manifest(): Promise<Manifest | undefined> {
    if (this.#isOwn) return Promise.resolve(undefined)
    this.#manifest ??= this.#loadManifest()
    this.#manifest.catch(() => (this.#manifest = undefined))
    return this.#manifest
  }

  async #loadManifest(): Promise<Manifest | undefined> {
    const text = await this.#text(MANIFEST_FILE)
    const manifest = text === undefined ? undefined : parseManifest(text)
    if (text !== undefined && manifest === undefined) this.#damaged(`${MANIFEST_FILE} does not say what is in it`)
    return manifest
  }

  async #text(file: string): Promise<string | undefined> {
    const text = await this.#package.read(file)
    if (text === undefined && (await this.#package.isThere())) this.#damaged(`${file} is missing`)
    return text
  }

  #damaged(fault: string): Loaded {
    const { name, version } = this.#package
    this.#isDamaged = true
    this.#onDamage(`The package ${name} ${version} is damaged: ${fault}. Remove it, and add it again`)
    return NOTHING
  }
}
