/** Files of a package of reduced definitions, with one file of profiles for each constrained type. https://hl7.org/fhir/R4/packages.html */
import type { Resource } from '../../resource.ts'
import type { Profile } from '../definition.ts'
import type { CodeSystem, ValueSet } from '../value-set.ts'
import { withoutBaseRules } from './base-rule-filter.ts'
import { reduceProfile, UnusableDefinition } from './reduced-profile.ts'
import { reduceCodeSystem, reduceValueSet } from './slim-value-set.ts'

/** Canonical URL without a version → definition. */
export type PackageFile<Definition> = Readonly<Record<string, Definition>>

export type Package = {
  readonly name: string
  readonly version: string
  /** Profiles by the type that they constrain. */
  readonly profiles: Readonly<Record<string, PackageFile<Profile>>>
  readonly valueSets: PackageFile<ValueSet>
  readonly codeSystems: PackageFile<CodeSystem>
}

/** Definition that was left out, with the reason. */
export type SkippedDefinition = { readonly url: string; readonly reason: string }

type Counting = { readonly url: string; readonly version?: string; readonly isRetired?: true }
type InOrder = (a: Counting, b: Counting) => number

/** Returns the reason why a definition is left out in favor of `first`, which has the same canonical URL. */
const reasonSkipped = (first: Counting, { version }: Counting): string =>
  first.version === version
    ? `That of ${versionOf(version)} is there more than once: the first counts`
    : `That of ${versionOf(version)} does not count beside that of ${versionOf(first.version)}`

const versionOf = (version: string | undefined): string => (version === undefined ? 'no version' : `version ${version}`)

/** Builds a package one definition at a time, so that the original definitions need not all be in memory. */
export class PackageBuilder {
  readonly #isKnown: (key: string) => boolean
  readonly #inOrder: InOrder
  readonly #types = new Map<string, string>()
  readonly #profiles: Record<string, Record<string, Profile>> = Object.create(null)
  readonly #valueSets: Record<string, ValueSet> = Object.create(null)
  readonly #codeSystems: Record<string, CodeSystem> = Object.create(null)
  readonly #leftOut: SkippedDefinition[] = []

  /**
   * `isKnown`: whether R4 has a constraint with this key; constraints of R4 are left out. `inOrder`: compares definitions with one
   * canonical URL; the lower one is kept.
   */
  constructor(isKnown: (key: string) => boolean, inOrder: InOrder) {
    this.#isKnown = isKnown
    this.#inOrder = inOrder
  }

  add(definition: Resource): void {
    if (definition.resourceType === 'ValueSet') this.#keep(definition, reduceValueSet(definition), this.#valueSets)
    else if (definition.resourceType === 'CodeSystem') this.#keep(definition, reduceCodeSystem(definition), this.#codeSystems)
    else if (definition.resourceType === 'StructureDefinition' && definition.kind !== 'logical') this.#addProfile(definition)
  }

  leaveOut({ url }: Resource | Counting, reason: string): void {
    this.#leftOut.push({ url: String(url), reason })
  }

  build({ name, version }: Pick<Package, 'name' | 'version'>): BuiltPackage {
    const [profiles, valueSets, codeSystems] = [this.#profiles, this.#valueSets, this.#codeSystems]
    return { content: { name, version, profiles, valueSets, codeSystems }, leftOut: this.#leftOut }
  }

  #keep<Definition extends Counting>(
    definition: Resource,
    slimmed: Definition | UnusableDefinition | undefined,
    into: Record<string, Definition>,
  ): void {
    if (slimmed === undefined) this.leaveOut(definition, 'It does not say which codes it has')
    else if (slimmed instanceof UnusableDefinition) this.leaveOut(definition, slimmed.message)
    else this.#keepFirst(slimmed, into[slimmed.url], () => (into[slimmed.url] = slimmed))
  }

  /**
   * Keeps the definition that `inOrder` ranks first of two with one canonical URL, and reports the other. If both rank equally, the earlier
   * one stays.
   */
  #keepFirst(each: Counting, before: Counting | undefined, keep: () => void): void {
    const [first, other] = before !== undefined && this.#inOrder(before, each) <= 0 ? [before, each] : [each, before]
    if (first === each) keep()
    if (other !== undefined) this.leaveOut(other, reasonSkipped(first, other))
  }

  #addProfile(definition: Resource): void {
    try {
      const profile = withoutBaseRules(reduceProfile(definition, this.#isKnown))
      const { url, type } = profile
      const typeBefore = this.#types.get(url) ?? type
      this.#keepFirst(profile, this.#profiles[typeBefore]?.[url], () => {
        delete this.#profiles[typeBefore]?.[url]
        this.#profiles[type] ??= Object.create(null)
        this.#profiles[type]![url] = profile
        this.#types.set(url, type)
      })
    } catch (error) {
      if (!(error instanceof UnusableDefinition)) throw error
      this.leaveOut(definition, error.message)
    }
  }
}

export type BuiltPackage = { readonly content: Package; readonly leftOut: readonly SkippedDefinition[] }

/** Rank by which the definition that is added later replaces the earlier one. */
const LATER = 1

export function buildPackage(
  name: Pick<Package, 'name' | 'version'>,
  definitions: readonly Resource[],
  isKnown: (key: string) => boolean,
  inOrder: InOrder = () => LATER,
): BuiltPackage {
  const making = new PackageBuilder(isKnown, inOrder)
  for (const definition of definitions) making.add(definition)
  return making.build(name)
}

/**
 * Returns the text of each file by its name: a file for each constrained type, the index of canonical URLs, the index of retired profiles,
 * and the lists of value sets and code systems. A list with more than `long` characters is split into NAME-0.json, NAME-1.json and so on,
 * so that a lookup reads only a part. See `shardOf`.
 */
export function packageFilesOf({ profiles, valueSets, codeSystems }: Package, long = LONG): ReadonlyMap<string, string> {
  const all = Object.entries(profiles).flatMap(([type, file]) => Object.values(file).map((each) => ({ ...each, type })))
  const index = Object.fromEntries(all.map(({ url, type }) => [url, type]))
  const retired = Object.fromEntries(all.filter(({ isRetired }) => isRetired).map(({ url, type }) => [url, type]))
  return new Map([
    ['index.json', linesOf(index)],
    ...(Object.keys(retired).length === 0 ? [] : [['retired.json', linesOf(retired)] as const]),
    ...Object.entries(profiles).map(([type, file]) => [`${type}.json`, linesOf(file)] as const),
    ...listFiles('value-sets', valueSets, long),
    ...listFiles('code-systems', codeSystems, long),
  ])
}

/** File with the version of each definition of a package, by canonical URL. Absent in packages that earlier releases added. */
export const VERSIONS_FILE = 'versions'

/**
 * Returns the file with the versions of the definitions of a package. Omits definitions that are retired or have no version. `isOfR4`:
 * whether R4 defines a canonical URL. These definitions are omitted too, because references to them always mean the definition of R4.
 */
export function versionFileOf({ profiles, valueSets, codeSystems }: Package, isOfR4: (url: string) => boolean): readonly [string, string] {
  const all = [...Object.values(profiles), valueSets, codeSystems].flatMap((file) => Object.values(file))
  const versions = all.flatMap(({ url, version, isRetired }) =>
    version === undefined || isRetired || isOfR4(url) ? [] : [[url, version] as const],
  )
  return [`${VERSIONS_FILE}.json`, linesOf(Object.fromEntries(versions))]
}

/** Approximate characters of one part of a list. Longer lists are split. */
const LONG = 128 * 1024

function listFiles(name: string, list: PackageFile<unknown>, long: number): readonly (readonly [string, string])[] {
  const whole = linesOf(list)
  const count = Math.ceil(whole.length / long)
  if (count === 1) return [[`${name}.json`, whole]]
  const parts: Record<string, unknown>[] = Array.from({ length: count }, () => Object.create(null))
  for (const [canonical, definition] of Object.entries(list)) parts[shardOf(canonical, count)]![canonical] = definition
  return parts.map((part, i) => [`${name}-${i}.json`, linesOf(part)])
}

/**
 * Returns the index of the part that holds a canonical URL, in a list of `count` parts. http://www.isthe.com/chongo/tech/comp/fnv/ (FNV-1a,
 * 32 bits)
 */
export function shardOf(canonical: string, count: number): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < canonical.length; i++) hash = Math.imul(hash ^ canonical.charCodeAt(i), 0x01000193)
  return (hash >>> 0) % count
}

/** Returns JSON with one member per line, so that diffs are readable. */
function linesOf(data: PackageFile<unknown>): string {
  const members = Object.entries(data).map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`)
  return `{\n${members.join(',\n')}\n}\n`
}
