/** Library that records the definitions that a check lacks. The caller loads them and repeats the check. */

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
  readonly #trees: DefinitionCache<ProfileTree | UnusableDefinition>
  readonly #valueSets: DefinitionCache<ValueSet>
  readonly #codeSystems: DefinitionCache<CodeSystem>
  readonly #units: UcumUnits | undefined
  readonly #capacity: CacheCapacity
  readonly now: (() => number) | undefined

  /**
   * `units`: without them, UCUM codes are not checked. `now`: current time for limits relative to it. `capacity`: cache capacity shared
   * with other libraries. `caches`: caches shared with another library.
   */
  constructor(find: DefinitionSource, units?: UcumUnits, now?: () => number, capacity = newCacheCapacity(), caches?: DefinitionCaches) {
    this.now = now
    this.#find = find
    this.#units = units
    this.#capacity = capacity
    this.#trees = new DefinitionCache((canonical) => this.#treeOrReason(canonical), capacity, caches?.trees)
    this.#valueSets = new DefinitionCache(find.valueSet, capacity, caches?.valueSets)
    this.#codeSystems = new DefinitionCache(find.codeSystem, capacity, caches?.codeSystems)
  }

  /** Returns a library for one check. Loaded definitions are shared with other checks; missing definitions are its own. */
  forCheck(): LoadingLibrary {
    const [trees, valueSets, codeSystems] = this.#caches
    return new LoadingLibrary(this.#find, this.#units, this.now, this.#capacity, { trees, valueSets, codeSystems })
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
    [this.#valueSets, this.#codeSystems].some((cache) => cache.peek(canonical)?.isRetired === true)
  valueSet = (canonical: string): ValueSet | undefined => unlessRetired(this.#valueSets.get(canonical))
  codeSystem = (canonical: string): CodeSystem | undefined => unlessRetired(this.#codeSystems.get(canonical))
  isCode = (system: string, code: string): boolean | undefined => isCodeOf(system, code, this.#units)
  inBaseUnits: UcumUnits['inBaseUnits'] = (code, value) => this.#units?.inBaseUnits(code, value)

  /** Looks up all recorded definitions, and returns how many it looked up. Also caches which of them do not exist. */
  async load(): Promise<number> {
    const loaded = await Promise.all(this.#caches.map((cache) => cache.load()))
    return loaded.reduce((sum, count) => sum + count, 0)
  }

  /** Whether definitions are missing. Clears the record of them, so call it only if none will be loaded. */
  isWanting(): boolean {
    return this.#caches.map((cache) => cache.forget()).includes(true)
  }

  get #caches() {
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

  /**
   * Returns the tree of a profile over the trees of its bases. `derived`: URLs of the profiles derived from it, to detect a cycle. Throws
   * UnusableDefinition if the profile or a base cannot be used.
   */
  async #treeOf(canonical: string, derived: readonly string[]): Promise<ProfileTree | undefined> {
    const profile = await this.#find.profile(canonical)
    if (profile?.isRetired) throw derived.length === 0 ? new Retired() : new UnusableDefinition(`${clipText(canonical)} is retired`)
    if (profile === undefined || profile.isWhole) return profile && treeOver(profile)
    const { base = '', url } = profile
    if (derived.includes(url)) throw new UnusableDefinition(`${clipText(url)} differs from itself`)
    if (derived.length >= MAX_BASES) throw new UnusableDefinition(`${clipText(url)} differs from too many others`)
    const above = await this.#treeOf(base, [...derived, url])
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

/** Maximum differentials in a chain of profiles. A profile with a longer chain is unusable. */
const MAX_BASES = 100

const isTypeOf = (canonical: string, type: string): boolean =>
  withoutVersion(canonical) === `http://hl7.org/fhir/StructureDefinition/${type}`

/**
 * Maximum characters in the cache: definitions as JSON, and canonical URLs, also those without a definition. Entries beyond it are evicted.
 */
const MAX_CHARACTERS = 32_000_000
/** Characters charged per cached canonical URL, besides its own. */
const URL_CHARACTERS = 100
/** Maximum missing definitions of a kind in one load. Further ones are recorded when the check is repeated. */
const MAX_MISSING = 1_000
/** Maximum characters of a canonical URL with its version. Definitions with a longer one are never loaded. */
export const MAX_CANONICAL_LENGTH = 2_000

type DefinitionCaches = {
  readonly trees: DefinitionCache<ProfileTree | UnusableDefinition>
  readonly valueSets: DefinitionCache<ValueSet>
  readonly codeSystems: DefinitionCache<CodeSystem>
}

class DefinitionCache<Definition> {
  readonly #find: (canonical: string) => Promise<Definition | undefined>
  readonly #entries: LruCache<Definition | undefined>
  readonly #missing = new Set<string>()

  constructor(find: (canonical: string) => Promise<Definition | undefined>, capacity: CacheCapacity, parent?: DefinitionCache<Definition>) {
    this.#find = find
    this.#entries = parent === undefined ? new LruCache(capacity) : parent.#entries
  }

  get(canonical: string): Definition | undefined {
    const found = this.peek(canonical)
    const isMissing = found === undefined && canonical.length <= MAX_CANONICAL_LENGTH && !this.#entries.has(canonical)
    if (isMissing && this.#missing.size < MAX_MISSING) this.#missing.add(canonical)
    return found
  }

  /** Returns the cached definition, if any. Unlike `get`, it does not record a missing definition. */
  peek(canonical: string): Definition | undefined {
    return this.#entries.get(canonical)
  }

  forget(): boolean {
    const isWanting = this.#missing.size > 0
    this.#missing.clear()
    return isWanting
  }

  async load(): Promise<number> {
    const missing = [...this.#missing]
    this.#missing.clear()
    const found = await Promise.all(missing.map((canonical) => this.#find(canonical)))
    for (const [i, canonical] of missing.entries()) {
      const bytes = URL_CHARACTERS + canonical.length + sizeOf(found[i])
      this.#entries.set(canonical, found[i], bytes)
    }
    return missing.length
  }
}

/**
 * Creates a cache capacity that several libraries share. Entries of one library can evict those of another. `maxCharacters`: maximum
 * characters of all entries.
 */
export const newCacheCapacity = (maxCharacters = MAX_CHARACTERS): CacheCapacity => new CacheCapacity(maxCharacters)

/** Sizes of definitions in characters. The size of a tree includes its bases. */
const SIZES = new WeakMap<object, number>()

function sizeOf(definition: unknown): number {
  if (typeof definition !== 'object' || definition === null || definition instanceof UnusableDefinition) return 0
  const cached = SIZES.get(definition)
  if (cached !== undefined) return cached
  const size = JSON.stringify(definition).length
  SIZES.set(definition, size)
  return size
}

function treeOver(profile: Profile, above?: ProfileTree): ProfileTree {
  const tree = above === undefined ? treeOf(profile) : treeOf(profile, above)
  SIZES.set(tree, sizeOf(profile) + (above === undefined ? 0 : sizeOf(above)))
  return tree
}
