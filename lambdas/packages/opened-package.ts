/** The files of a package, each read when something in it is first asked for, and compared with what the package says of it. */
import { type PackageFile, shardOf } from '../fhir/profile/package.ts'
import type { KeptPackage } from '../ports/packages.ts'
import { digestOf, MANIFEST, type Manifest, manifestIn, objectIn } from './manifest.ts'

/** Told what cannot be read, and why. */
export type OnDamage = (text: string) => void

/** Of lists that are split: the files are numbered. */
export type List = 'value-sets' | 'code-systems'

/** Of the index they are texts. */
function markBuiltIn(definitions: Readonly<Record<string, unknown>>): void {
  for (const each of Object.values(definitions)) if (typeof each === 'object') Object.assign(each as object, { isBuiltIn: true })
}

const NONE: PackageFile<never> = Object.freeze(Object.create(null))

export class OpenedPackage {
  readonly #kept: KeptPackage
  readonly #onDamage: OnDamage
  readonly #isOwn: boolean
  readonly #read = new Map<string, Promise<PackageFile<never>>>()
  #manifest: Promise<Manifest | undefined> | undefined
  #isDamaged = false

  /** `isOwn`: of the server, which has no manifest. */
  constructor(kept: KeptPackage, onDamage: OnDamage, isOwn = false) {
    this.#kept = kept
    this.#onDamage = onDamage
    this.#isOwn = isOwn
  }

  /** Canonical → definition; nothing where there is no such file, or it is damaged. `file`: without its ending. */
  file<Definition>(file: string): Promise<PackageFile<Definition>> {
    let read = this.#read.get(file)
    if (read === undefined) {
      read = this.#load(`${file}.json`)
      read.catch(() => this.#read.delete(file))
      this.#read.set(file, read)
    }
    return read as Promise<PackageFile<Definition>>
  }

  /** The part of a list in which a canonical stands, if it does. */
  async part<Definition>(list: List, canonical: string): Promise<PackageFile<Definition>> {
    const parts = await this.#partsOf(list)
    return this.file(parts === 0 ? list : `${list}-${shardOf(canonical, parts)}`)
  }

  /** Names of the files of a list, without their ending. */
  async parts(list: List): Promise<readonly string[]> {
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

  async #partsOf(list: List): Promise<number> {
    const files = Object.keys((await this.#known())?.files ?? {})
    return files.filter((file) => file.startsWith(`${list}-`)).length
  }

  async #load(file: string): Promise<PackageFile<never>> {
    const digests = (await this.#known())?.files
    if (digests !== undefined && !Object.hasOwn(digests, file)) return NONE
    const text = await this.#text(file)
    if (text === undefined) return NONE
    if (digests !== undefined && digestOf(text) !== digests[file]) return this.#damaged(`${file} is not as it was`)
    const definitions = objectIn(text)
    if (definitions === undefined) return this.#damaged(`${file} is not JSON`)
    if (this.#isOwn) markBuiltIn(definitions)
    return definitions as PackageFile<never>
  }

  #known(): Promise<Manifest | undefined> {
    if (this.#isOwn) return Promise.resolve(undefined)
    this.#manifest ??= this.#loadManifest()
    this.#manifest.catch(() => (this.#manifest = undefined))
    return this.#manifest
  }

  async #loadManifest(): Promise<Manifest | undefined> {
    const text = await this.#text(MANIFEST)
    const manifest = text === undefined ? undefined : manifestIn(text)
    if (text !== undefined && manifest === undefined) this.#damaged(`${MANIFEST} does not say what is in it`)
    return manifest
  }

  async #text(file: string): Promise<string | undefined> {
    const text = await this.#kept.read(file)
    if (text === undefined && (await this.#kept.isThere())) this.#damaged(`${file} is missing`)
    return text
  }

  #damaged(what: string): typeof NONE {
    const { name, version } = this.#kept
    this.#isDamaged = true
    this.#onDamage(`The package ${name} ${version} is damaged: ${what}. Remove it, and add it again`)
    return NONE
  }
}
