/** Definitions of the packages that come with the server, and of the packages that an operator added. */

import { splitCanonical } from '../fhir/profile/canonical.ts'
import type { Profile } from '../fhir/profile/definition.ts'
import type { CodeSystem, ValueSet } from '../fhir/profile/value-set.ts'
import type { Conformance } from '../ports/definitions/conformance.ts'
import type { AddedPackages, StoredPackage } from '../ports/definitions/package-store.ts'
import { comparePrecedence, type VersionedDefinition } from '../ports/definitions/version-order.ts'
import { type DefinitionList, newFileCache, type OnDamage, PackageReader } from './package-reader.ts'

export type PackagesParts = {
  /** Packages that come with the server. They never change. The first is R4: its definitions take precedence over all others. */
  readonly own: readonly StoredPackage[]
  readonly added?: AddedPackages
  readonly onDamage?: OnDamage
}

export class PackagedDefinitions implements Conformance {
  readonly #own: readonly PackageReader[]
  readonly #added: AddedPackages | undefined
  readonly #onDamage: OnDamage
  readonly #files = newFileCache()
  #damage = new Set<string>()
  #now: { readonly state: string; readonly packages: readonly PackageReader[] }

  constructor({ own, added, onDamage = () => undefined }: PackagesParts) {
    this.#onDamage = onDamage
    this.#own = own.map((stored) => new PackageReader(stored, this.#noteDamage, true, this.#files))
    this.#added = added
    this.#now = { state: '', packages: this.#own }
  }

  profile: Conformance['profile'] = (canonical) =>
    this.#find<Profile>(canonical, async (each, url) => {
      const type = (await each.file<string>('index'))[url]
      return type === undefined ? undefined : (await each.file<Profile>(type))[url]
    })

  valueSet: Conformance['valueSet'] = (canonical) => this.#find<ValueSet>(canonical, inList('value-sets'))

  codeSystem: Conformance['codeSystem'] = (canonical) => this.#find<CodeSystem>(canonical, inList('code-systems'))

  damage: Conformance['damage'] = () => [...this.#damage]

  state: Conformance['state'] = async () => {
    if (this.#added === undefined) return ''
    const { state, packages } = await this.#added.now()
    if (state !== this.#now.state) {
      this.#damage = new Set()
      this.#now = {
        state,
        packages: [...this.#own, ...packages.map((stored) => new PackageReader(stored, this.#noteDamage, false, this.#files))],
      }
    }
    return state
  }

  readonly #noteDamage: OnDamage = (text) => {
    if (this.#damage.has(text)) return
    this.#damage.add(text)
    this.#onDamage(text)
  }

  async #find<Definition extends VersionedDefinition>(
    canonical: string,
    lookUp: (each: PackageReader, url: string) => Promise<Definition | undefined>,
  ): Promise<Definition | undefined> {
    const { url, version } = splitCanonical(canonical)
    await this.state()
    const isMatch = (definition: Definition | undefined): definition is Definition =>
      definition !== undefined && (version === undefined || definition.version === version)
    const [r4] = this.#own
    const definition = r4 && (await lookUp(r4, url))
    if (isMatch(definition)) return definition
    // Look up in parallel: each package may need several requests.
    const others = this.#now.packages.filter((each) => each !== r4)
    const found: readonly (Definition | undefined)[] = await Promise.all(others.map((each) => lookUp(each, url)))
    // The sort is stable: of two definitions that rank equally, the one of the first package takes precedence.
    return found.filter(isMatch).toSorted(comparePrecedence)[0]
  }
}

const inList =
  <Definition>(list: DefinitionList) =>
  async (each: PackageReader, url: string): Promise<Definition | undefined> =>
    (await each.part<Definition>(list, url))[url]
