/** The files of a package, each read when something in it is first asked for, and compared with what the package says of it. */
import { LruCache } from '../fhir/profile/definitions/lru-cache.ts'
import { type PackageFile, shardOf } from '../fhir/profile/definitions/package-files.ts'
import type { StoredPackage } from '../ports/definitions/package-store.ts'
import { digestOf, MANIFEST_FILE, type Manifest, parseJsonObject, parseManifest } from './manifest.ts'

/** Told what cannot be read, and why. */
export type OnDamage = (text: string) => void

/** Of lists that are split: the files are numbered. */
export type DefinitionList = 'value-sets' | 'code-systems'

/** Of the index they are texts. */
function markBuiltIn(definitions: Readonly<Record<string, unknown>>): void {
  for (const each of Object.values(definitions)) if (typeof each === 'object') Object.assign(each as object, { isBuiltIn: true })
}

type Loaded = { readonly definitions: PackageFile<never>; readonly characters: number }

const NOTHING: Loaded = { definitions: Object.freeze(Object.create(null)), characters: 0 }

type Files = LruCache<Promise<PackageFile<never>>>

/** Characters of the files that are kept, which stand for themselves and what is made of them: one of a package may have as many. */
const MOST_FILES = 64_000_000

export const newFileCache = (most = MOST_FILES): Files => new LruCache(most)

/** Packages that were opened: one that is removed and added again is another. */
let opened = 0

export class PackageReader {
  readonly #kept: StoredPackage
  readonly #onDamage: OnDamage
  readonly #isOwn: boolean
  readonly #files: Files
  readonly #number = ++opened
  #manifest: Promise<Manifest | undefined> | undefined
  #isDamaged = false

  /** `isOwn`: of the server, which has no manifest. `files`: that are kept, of this one and others. */
  constructor(kept: StoredPackage, onDamage: OnDamage, isOwn = false, files = newFileCache()) {
    this.#files = files
    this.#kept = kept
    this.#onDamage = onDamage
    this.#isOwn = isOwn
  }

  /** Canonical → definition; nothing where there is no such file, or it is damaged. `file`: without its ending. */
  file<Definition>(file: string): Promise<PackageFile<Definition>> {
    const name = `${this.#number} ${file}`
    const known = this.#files.get(name)
    if (known !== undefined) return known as Promise<PackageFile<Definition>>
    const loading = this.#load(`${file}.json`)
    const read = loading.then(({ definitions }) => definitions)
    this.#files.set(name, read, 0)
    loading.then(
      ({ characters }) => this.#files.set(name, read, characters),
      () => this.#files.delete(name),
    )
    return read
  }

  /** The part of a list in which a canonical stands, if it does. */
  async part<Definition>(list: DefinitionList, canonical: string): Promise<PackageFile<Definition>> {
    const parts = await this.#partsOf(list)
    return this.file(parts === 0 ? list : `${list}-${shardOf(canonical, parts)}`)
  }

  /** Names of the files of a list, without their ending. */
  async parts(list: DefinitionList): Promise<readonly string[]> {
    const parts = await this.#partsOf(list)
    return parts === 0 ? [list] : Array.from({ length: parts }, (_, i) => `${list}-${i}`)
  }

  /** Every file is read. false: something is damaged. */
  async isWhole(): Promise<boolean> {
    const files = Object.keys((await this.#known())?.files ?? {}).map((file) => file.replace(/\.json$/, ''))
    const types = Object.values(await this.file<string>('index'))
    await Promise.all([...new Set(['index', 'value-sets', 'code-systems', ...types, ...files])].map((file) => this.file(file)))
    return !this.#isDamaged
  }

  async #partsOf(list: DefinitionList): Promise<number> {
    const files = Object.keys((await this.#known())?.files ?? {})
    return files.filter((file) => file.startsWith(`${list}-`)).length
  }

  async #load(file: string): Promise<Loaded> {
    const digests = (await this.#known())?.files
    if (digests !== undefined && !Object.hasOwn(digests, file)) return NOTHING
    const text = await this.#text(file)
    if (text === undefined) return NOTHING
    if (digests !== undefined && digestOf(text) !== digests[file]) return this.#damaged(`${file} is not as it was`)
    const definitions = parseJsonObject(text)
    if (definitions === undefined) return this.#damaged(`${file} is not JSON`)
    if (this.#isOwn) markBuiltIn(definitions)
    return { definitions: definitions as PackageFile<never>, characters: text.length }
  }

  #known(): Promise<Manifest | undefined> {
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
    const text = await this.#kept.read(file)
    if (text === undefined && (await this.#kept.isThere())) this.#damaged(`${file} is missing`)
    return text
  }

  #damaged(what: string): Loaded {
    const { name, version } = this.#kept
    this.#isDamaged = true
    this.#onDamage(`The package ${name} ${version} is damaged: ${what}. Remove it, and add it again`)
    return NOTHING
  }
}
