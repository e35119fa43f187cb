/** Libraries that gather what they were asked for and do not have, so that it can be loaded and the check be made again. */

import { withoutVersion } from '../canonical.ts'
import { clipText } from '../clipped-text.ts'
import type { Profile } from '../definition.ts'
import type { Library } from '../library.ts'
import { type ProfileTree, treeOf } from '../profile-tree.ts'
import { isCodeOf, type UcumUnits } from '../rule-based-systems.ts'
import type { CodeSystem, ValueSet } from '../value-set.ts'
import { CacheCapacity, LruCache } from './lru-cache.ts'
import { UnusableDefinition } from './reduced-profile.ts'

export type DefinitionSource = {
  readonly profile: (canonical: string) => Promise<Profile | undefined>
  readonly valueSet: (canonical: string) => Promise<ValueSet | undefined>
  readonly codeSystem: (canonical: string) => Promise<CodeSystem | undefined>
}

export class LoadingLibrary implements Library {
  readonly #find: DefinitionSource
  readonly #trees: Shelf<ProfileTree | UnusableDefinition>
  readonly #valueSets: Shelf<ValueSet>
  readonly #codeSystems: Shelf<CodeSystem>
  readonly #units: UcumUnits | undefined
  readonly #room: CacheCapacity
  readonly now: (() => number) | undefined

  /** `units`: without them codes of UCUM are taken as they are. `now`: what durations are counted from. `room`: that it shares with others. */
  constructor(find: DefinitionSource, units?: UcumUnits, now?: () => number, room = newCacheCapacity(), shelves?: Shelves) {
    this.now = now
    this.#find = find
    this.#units = units
    this.#room = room
    this.#trees = new Shelf((canonical) => this.#treeOrReason(canonical), room, shelves?.trees)
    this.#valueSets = new Shelf(find.valueSet, room, shelves?.valueSets)
    this.#codeSystems = new Shelf(find.codeSystem, room, shelves?.codeSystems)
  }

  /** For one check among others: what is loaded is there for all of them, what is wanted is its own. */
  forCheck(): LoadingLibrary {
    const [trees, valueSets, codeSystems] = this.#shelves
    return new LoadingLibrary(this.#find, this.#units, this.now, this.#room, { trees, valueSets, codeSystems })
  }

  tree = (canonical: string): ProfileTree | undefined => {
    const found = this.#trees.get(canonical)
    return found instanceof UnusableDefinition ? undefined : found
  }

  unusable = (canonical: string): string | undefined => {
    const found = this.#trees.get(canonical)
    return found instanceof UnusableDefinition ? found.message : undefined
  }

  /** Whether that is why. */
  isRetiredProfile = (canonical: string): boolean => this.#trees.get(canonical) instanceof Retired

  isRetired = (canonical: string): boolean =>
    [this.#valueSets, this.#codeSystems].some((shelf) => shelf.known(canonical)?.isRetired === true)
  valueSet = (canonical: string): ValueSet | undefined => unlessRetired(this.#valueSets.get(canonical))
  codeSystem = (canonical: string): CodeSystem | undefined => unlessRetired(this.#codeSystems.get(canonical))
  isCode = (system: string, code: string): boolean | undefined => isCodeOf(system, code, this.#units)
  inBaseUnits: UcumUnits['inBaseUnits'] = (code, value) => this.#units?.inBaseUnits(code, value)

  /** How much was wanted, which is there now or known not to be. */
  async load(): Promise<number> {
    const loaded = await Promise.all(this.#shelves.map((shelf) => shelf.load()))
    return loaded.reduce((sum, count) => sum + count, 0)
  }

  /** Whether something is wanted, which nobody is going to load. */
  isWanting(): boolean {
    return this.#shelves.map((shelf) => shelf.forget()).includes(true)
  }

  get #shelves() {
    return [this.#trees, this.#valueSets, this.#codeSystems] as const
  }

  async #treeOrReason(canonical: string): Promise<ProfileTree | UnusableDefinition | undefined> {
    try {
      return await this.#treeOf(canonical, [])
    } catch (error) {
      if (error instanceof UnusableDefinition) return error
      throw error
    }
  }

  /** `way`: the profiles that differ from it. */
  async #treeOf(canonical: string, way: readonly string[]): Promise<ProfileTree | undefined> {
    const profile = await this.#find.profile(canonical)
    if (profile?.isRetired) throw way.length === 0 ? new Retired() : new UnusableDefinition(`${clipText(canonical)} is retired`)
    if (profile === undefined || profile.isWhole) return profile && treeOver(profile)
    const { base = '', url } = profile
    if (way.includes(url)) throw new UnusableDefinition(`${clipText(url)} differs from itself`)
    if (way.length >= MOST_BASES) throw new UnusableDefinition(`${clipText(url)} differs from too many others`)
    const above = await this.#treeOf(base, [...way, url])
    if (above === undefined && !isTypeOf(base, profile.type))
      throw new UnusableDefinition(`${clipText(url)} differs from ${clipText(base)}, which is not loaded`)
    return treeOver(profile, above)
  }
}

/** That takes no part. */
class Retired extends UnusableDefinition {
  constructor() {
    super('it is retired')
  }
}

const unlessRetired = <Definition extends { readonly isRetired?: true }>(definition: Definition | undefined): Definition | undefined =>
  definition?.isRetired ? undefined : definition

/** Profiles that differ from one another in turn. */
const MOST_BASES = 100

const isTypeOf = (canonical: string, type: string): boolean =>
  withoutVersion(canonical) === `http://hl7.org/fhir/StructureDefinition/${type}`

/** Characters of the definitions that are remembered, as JSON, and of canonicals, whether there is something or not. */
const MOST = 32_000_000
/** Of a canonical that is remembered, besides it. */
const LEAST = 100
/** Those that one check can want at a time: others are not loaded. */
const MOST_WANTED = 1_000
/** Characters of a canonical that is looked for, with its version. */
export const MAX_CANONICAL_LENGTH = 2_000

type Shelves = {
  readonly trees: Shelf<ProfileTree | UnusableDefinition>
  readonly valueSets: Shelf<ValueSet>
  readonly codeSystems: Shelf<CodeSystem>
}

class Shelf<Definition> {
  readonly #find: (canonical: string) => Promise<Definition | undefined>
  readonly #kept: LruCache<Definition | undefined>
  readonly #wanted = new Set<string>()

  constructor(find: (canonical: string) => Promise<Definition | undefined>, room: CacheCapacity, beside?: Shelf<Definition>) {
    this.#find = find
    this.#kept = beside === undefined ? new LruCache(room) : beside.#kept
  }

  get(canonical: string): Definition | undefined {
    const found = this.known(canonical)
    const isWanted = found === undefined && canonical.length <= MAX_CANONICAL_LENGTH && !this.#kept.has(canonical)
    if (isWanted && this.#wanted.size < MOST_WANTED) this.#wanted.add(canonical)
    return found
  }

  /** What is there without being loaded. */
  known(canonical: string): Definition | undefined {
    return this.#kept.get(canonical)
  }

  forget(): boolean {
    const isWanting = this.#wanted.size > 0
    this.#wanted.clear()
    return isWanting
  }

  async load(): Promise<number> {
    const wanted = [...this.#wanted]
    this.#wanted.clear()
    const found = await Promise.all(wanted.map((canonical) => this.#find(canonical)))
    for (const [i, canonical] of wanted.entries()) {
      const bytes = LEAST + canonical.length + sizeOf(found[i])
      this.#kept.set(canonical, found[i], bytes)
    }
    return wanted.length
  }
}

/** Of several, which make room for each other. */
export const newCacheCapacity = (most = MOST): CacheCapacity => new CacheCapacity(most)

/** Of trees, with what they lie over. */
const SIZES = new WeakMap<object, number>()

function sizeOf(definition: unknown): number {
  if (typeof definition !== 'object' || definition === null || definition instanceof UnusableDefinition) return 0
  const known = SIZES.get(definition)
  if (known !== undefined) return known
  const size = JSON.stringify(definition).length
  SIZES.set(definition, size)
  return size
}

function treeOver(profile: Profile, above?: ProfileTree): ProfileTree {
  const tree = above === undefined ? treeOf(profile) : treeOf(profile, above)
  SIZES.set(tree, sizeOf(profile) + (above === undefined ? 0 : sizeOf(above)))
  return tree
}
