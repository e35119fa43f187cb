/** Library that records the definitions that a check lacks, so that they can be loaded and the check be repeated. */

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

  /** `units`: without them UCUM codes are not checked. `now`: start of durations. `room`: cache capacity shared with other libraries. */
  constructor(find: DefinitionSource, units?: UcumUnits, now?: () => number, room = newCacheCapacity(), shelves?: Shelves) {
    this.now = now
    this.#find = find
    this.#units = units
    this.#room = room
    this.#trees = new Shelf((canonical) => this.#treeOrReason(canonical), room, shelves?.trees)
    this.#valueSets = new Shelf(find.valueSet, room, shelves?.valueSets)
    this.#codeSystems = new Shelf(find.codeSystem, room, shelves?.codeSystems)
  }

  /** Returns a library for one check. Loaded definitions are shared with other checks; missing definitions are its own. */
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

  /** Whether the profile cannot be used because it is retired. */
  isRetiredProfile = (canonical: string): boolean => this.#trees.get(canonical) instanceof Retired

  isRetired = (canonical: string): boolean =>
    [this.#valueSets, this.#codeSystems].some((shelf) => shelf.known(canonical)?.isRetired === true)
  valueSet = (canonical: string): ValueSet | undefined => unlessRetired(this.#valueSets.get(canonical))
  codeSystem = (canonical: string): CodeSystem | undefined => unlessRetired(this.#codeSystems.get(canonical))
  isCode = (system: string, code: string): boolean | undefined => isCodeOf(system, code, this.#units)
  inBaseUnits: UcumUnits['inBaseUnits'] = (code, value) => this.#units?.inBaseUnits(code, value)

  /** Loads the missing definitions and returns their number. Also caches that a definition does not exist. */
  async load(): Promise<number> {
    const loaded = await Promise.all(this.#shelves.map((shelf) => shelf.load()))
    return loaded.reduce((sum, count) => sum + count, 0)
  }

  /** Whether definitions are missing. Forgets them: call it only if none will be loaded. */
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

  /** Returns the tree of a profile over the trees of its bases. `way`: URLs of the profiles derived from it, to detect a cycle. */
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

/** Reason for a profile that is ignored because it is retired. */
class Retired extends UnusableDefinition {
  constructor() {
    super('it is retired')
  }
}

const unlessRetired = <Definition extends { readonly isRetired?: true }>(definition: Definition | undefined): Definition | undefined =>
  definition?.isRetired ? undefined : definition

/** Maximum differentials above one another. A profile with more is unusable. */
const MOST_BASES = 100

const isTypeOf = (canonical: string, type: string): boolean =>
  withoutVersion(canonical) === `http://hl7.org/fhir/StructureDefinition/${type}`

/** Maximum characters in the cache: definitions as JSON, and canonical URLs, also those without a definition. */
const MOST = 32_000_000
/** Characters charged per cached canonical URL, besides its own. */
const LEAST = 100
/** Maximum missing definitions of a kind in one load. Further ones are recorded when the check is repeated. */
const MOST_WANTED = 1_000
/** Maximum characters of a canonical URL with its version. Longer ones are never loaded. */
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

  /** Returns the cached definition without recording that it is missing. */
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

/** Creates a cache capacity that several libraries share: they evict each other's entries. `most`: maximum characters of all entries. */
export const newCacheCapacity = (most = MOST): CacheCapacity => new CacheCapacity(most)

/** Sizes of definitions in characters. The size of a tree includes its bases. */
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
