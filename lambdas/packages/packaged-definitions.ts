/** Conformance of packages: a server's own, and those that are added. */
import type { Profile } from '../fhir/profile/definition.ts'
import type { CodeSystem, ValueSet } from '../fhir/profile/value-set.ts'
import type { Conformance } from '../ports/conformance.ts'
import type { AddedPackages, KeptPackage } from '../ports/packages.ts'
import { compareVersions } from '../ports/version-order.ts'
import { type List, type OnDamage, OpenedPackage } from './opened-package.ts'

type Versioned = { readonly url: string; readonly version?: string; readonly isRetired?: true }

export type PackagesParts = {
  /** Packages that do not change, R4's first: what is in that is said by no other. */
  readonly own: readonly KeptPackage[]
  readonly added?: AddedPackages
  readonly onDamage?: OnDamage
}

export class PackagedDefinitions implements Conformance {
  readonly #own: readonly OpenedPackage[]
  readonly #added: AddedPackages | undefined
  readonly #onDamage: OnDamage
  #damage = new Set<string>()
  #now: { readonly state: string; readonly packages: readonly OpenedPackage[] }

  constructor({ own, added, onDamage = () => undefined }: PackagesParts) {
    this.#onDamage = onDamage
    this.#own = own.map((kept) => new OpenedPackage(kept, this.#noteDamage, true))
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
      this.#now = { state, packages: [...this.#own, ...packages.map((kept) => new OpenedPackage(kept, this.#noteDamage))] }
    }
    return state
  }

  readonly #noteDamage: OnDamage = (text) => {
    if (this.#damage.has(text)) return
    this.#damage.add(text)
    this.#onDamage(text)
  }

  async #find<Definition extends Versioned>(
    canonical: string,
    lookUp: (each: OpenedPackage, url: string) => Promise<Definition | undefined>,
  ): Promise<Definition | undefined> {
    const [url, version] = [canonical.split('|', 1)[0]!, canonical.split('|')[1]]
    await this.state()
    const isAsked = (definition: Definition | undefined): definition is Definition =>
      definition !== undefined && (version === undefined || definition.version === version)
    const [r4] = this.#own
    const ofR4 = r4 && (await lookUp(r4, url))
    if (isAsked(ofR4)) return ofR4
    // Each may be some requests away.
    const others = this.#now.packages.filter((each) => each !== r4)
    const found: readonly (Definition | undefined)[] = await Promise.all(others.map((each) => lookUp(each, url)))
    return found.filter(isAsked).reduce<Definition | undefined>((best, each) => (best && !isNewer(each, best) ? best : each), undefined)
  }
}

const inList =
  <Definition>(list: List) =>
  async (each: OpenedPackage, url: string): Promise<Definition | undefined> =>
    (await each.part<Definition>(list, url))[url]

/** What is retired counts only where there is nothing else; of the same version the first one does. */
function isNewer(a: Versioned, b: Versioned): boolean {
  if (a.isRetired !== b.isRetired) return b.isRetired === true
  return compareVersions(a.version ?? '', b.version ?? '') > 0
}
