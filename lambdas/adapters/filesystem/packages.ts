/** Conformance in folders of packages, each file read when something in it is first asked for. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Conformance } from '../../ports/conformance.ts'

type Versioned = { readonly url: string; readonly version?: string; readonly isRetired?: true }
type PackageFile<Definition> = Readonly<Record<string, Definition>>

const VALUE_SETS = 'value-sets'
const CODE_SYSTEMS = 'code-systems'

export class FilesystemPackages implements Conformance {
  readonly #folders: readonly string[]
  readonly #files = new Map<string, Promise<PackageFile<never>>>()

  /** Each is a package. */
  constructor(folders: readonly string[]) {
    this.#folders = folders
  }

  profile: Conformance['profile'] = async (canonical) => {
    const url = urlOf(canonical)
    return this.#newest(canonical, async (folder) => (await this.#file<string>(folder, 'index'))[url])
  }

  valueSet: Conformance['valueSet'] = (canonical) => this.#newest(canonical, () => VALUE_SETS)

  codeSystem: Conformance['codeSystem'] = (canonical) => this.#newest(canonical, () => CODE_SYSTEMS)

  async #newest<Definition extends Versioned>(
    canonical: string,
    fileOf: (folder: string) => string | undefined | Promise<string | undefined>,
  ): Promise<Definition | undefined> {
    const [url, version] = [urlOf(canonical), canonical.split('|')[1]]
    const found: Definition[] = []
    for (const folder of this.#folders) {
      const file = await fileOf(folder)
      const definition = file === undefined ? undefined : (await this.#file<Definition>(folder, file))[url]
      if (definition !== undefined && (version === undefined || definition.version === version)) found.push(definition)
    }
    return found.toSorted(byVersion).at(-1)
  }

  #file<Definition>(folder: string, name: string): Promise<PackageFile<Definition>> {
    const path = join(folder, `${name}.json`)
    let read = this.#files.get(path)
    if (read === undefined) {
      read = readFile(path, 'utf8').then((text) => Object.assign(Object.create(null), JSON.parse(text)))
      read.catch(() => this.#files.delete(path))
      this.#files.set(path, read)
    }
    return read as Promise<PackageFile<Definition>>
  }
}

const urlOf = (canonical: string): string => canonical.split('|', 1)[0]!

/** What is retired first, then by the numbers of the version. https://semver.org/#spec-item-11 */
function byVersion(a: Versioned, b: Versioned): number {
  if (a.isRetired !== b.isRetired) return a.isRetired === true ? -1 : 1
  return VERSIONS.compare(a.version ?? '', b.version ?? '')
}

const VERSIONS = new Intl.Collator('en', { numeric: true })
