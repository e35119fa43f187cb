/** Definitions of the packages that come with the server, and of the packages that an operator added. */

import { splitCanonical } from '../fhir/profile/canonical.ts'
import type { Profile } from '../fhir/profile/definition.ts'
import type { CodeSystem, ValueSet } from '../fhir/profile/value-set.ts'
import type { Conformance } from '../ports/definitions/conformance.ts'
import type { AddedPackages, StoredPackage } from '../ports/definitions/package-store.ts'
import { comparePrecedence, type VersionedDefinition } from '../ports/definitions/version-order.ts'
import type { Found, Listed } from './definition-versions.ts'
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
  #now: Listed

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
    }).then((found) => found && this.#pinned(found))

  valueSet: Conformance['valueSet'] = (canonical) =>
    this.#find<ValueSet>(canonical, inList('value-sets')).then((found) => found && this.#pinned(found))

  codeSystem: Conformance['codeSystem'] = async (canonical) => (await this.#find<CodeSystem>(canonical, inList('code-systems')))?.definition

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
  ): Promise<Found<Definition> | undefined> {
    const { url, version } = splitCanonical(canonical)
    await this.state()
    const listed = this.#now
    const lookUpIn = async (each: PackageReader): Promise<readonly Found<Definition>[]> => {
      const definition = await lookUp(each, url)
      const isMatch = definition !== undefined && (version === undefined || definition.version === version)
      return isMatch ? [{ definition, from: each, listed }] : []
    }
    const [r4] = this.#own
    const [ofR4] = r4 === undefined ? [] : await lookUpIn(r4)
    if (ofR4 !== undefined) return ofR4
    // Look up in parallel: each package may need several requests.
    const found = await Promise.all(listed.packages.filter((each) => each !== r4).map(lookUpIn))
    // The sort is stable: of two definitions that rank equally, the one of the first package takes precedence.
    return found.flat().toSorted((a, b) => comparePrecedence(a.definition, b.definition))[0]
  }

  /** Returns the definition with versions in its canonical URLs, as its package resolves them. Definitions of R4 stay without versions. */
  async #pinned<Definition extends Profile | ValueSet>(found: Found<Definition>): Promise<Definition> {
    return found.from === this.#own[0] ? found.definition : (await import('./pinned-canonicals.ts')).pinnedDefinition(found)
  }
}

const inList =
  <Definition>(list: DefinitionList) =>
  async (each: PackageReader, url: string): Promise<Definition | undefined> =>
    (await each.part<Definition>(list, url))[url]
