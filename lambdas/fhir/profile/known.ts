/** A Library that gathers what it was asked for and does not have, so that it can be loaded and the check be made again. */
import type { Profile } from './definition.ts'
import type { Library } from './library.ts'
import { type Tree, treeOf } from './node.ts'
import { Unusable } from './slim.ts'
import type { CodeSystem, ValueSet } from './value-set.ts'

export type Find = {
  readonly profile: (canonical: string) => Promise<Profile | undefined>
  readonly valueSet: (canonical: string) => Promise<ValueSet | undefined>
  readonly codeSystem: (canonical: string) => Promise<CodeSystem | undefined>
}

export class Known implements Library {
  readonly #find: Find
  readonly #trees: Shelf<Tree>
  readonly #valueSets: Shelf<ValueSet>
  readonly #codeSystems: Shelf<CodeSystem>

  constructor(find: Find) {
    this.#find = find
    this.#trees = new Shelf((canonical) => this.#treeOf(canonical, []))
    this.#valueSets = new Shelf(find.valueSet)
    this.#codeSystems = new Shelf(find.codeSystem)
  }

  tree = (canonical: string): Tree | undefined => this.#trees.get(canonical)
  valueSet = (canonical: string): ValueSet | undefined => this.#valueSets.get(canonical)
  codeSystem = (canonical: string): CodeSystem | undefined => this.#codeSystems.get(canonical)

  /** Whether something was wanted, which is there now or known not to be. Unusable: a profile differs from one that is not there. */
  async load(): Promise<boolean> {
    const loaded = await Promise.all([this.#trees.load(), this.#valueSets.load(), this.#codeSystems.load()])
    return loaded.includes(true)
  }

  /** `way`: the profiles that differ from it. */
  async #treeOf(canonical: string, way: readonly string[]): Promise<Tree | undefined> {
    const profile = await this.#find.profile(canonical)
    if (profile === undefined || profile.isWhole) return profile && treeOf(profile)
    const { base = '', url } = profile
    if (way.includes(url)) throw new Unusable(`${url} differs from itself`)
    const differing = await this.#find.profile(base)
    if (differing === undefined && !isTypeOf(base, profile.type)) throw new Unusable(`${url} differs from ${base}, which is not loaded`)
    return treeOf(profile, await this.#treeOf(base, [...way, url]))
  }
}

const isTypeOf = (canonical: string, type: string): boolean => canonical.split('|')[0] === `http://hl7.org/fhir/StructureDefinition/${type}`

class Shelf<Definition> {
  readonly #find: (canonical: string) => Promise<Definition | undefined>
  readonly #known = new Map<string, Definition | undefined>()
  readonly #wanted = new Set<string>()

  constructor(find: (canonical: string) => Promise<Definition | undefined>) {
    this.#find = find
  }

  get(canonical: string): Definition | undefined {
    const found = this.#known.get(canonical)
    if (found === undefined && !this.#known.has(canonical)) this.#wanted.add(canonical)
    return found
  }

  async load(): Promise<boolean> {
    const wanted = [...this.#wanted]
    this.#wanted.clear()
    for (const canonical of wanted) this.#known.set(canonical, await this.#find(canonical))
    return wanted.length > 0
  }
}
