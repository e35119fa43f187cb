/** Conformance in folders of packages, each file read when something in it is first asked for. */
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Conformance } from '../../ports/conformance.ts'
import { compareVersions } from '../../ports/version-order.ts'
import { isMissing, isUnfinished } from './durable-file.ts'

type Versioned = { readonly url: string; readonly version?: string; readonly isRetired?: true }
type PackageFile<Definition> = Readonly<Record<string, Definition>>

const INDEX = 'index'
const VALUE_SETS = 'value-sets'
const CODE_SYSTEMS = 'code-systems'

/** Milliseconds for which a folder may change again without another time of its change. */
const COARSE = 2_000

export class FilesystemPackages implements Conformance {
  readonly #own: readonly string[]
  readonly #added: string | undefined
  #files = new Map<string, Promise<PackageFile<never>>>()
  #now: { readonly state: string; readonly folders: readonly string[] }

  /** `own`: packages that do not change, R4's first: what is in that is said by no other. `added`: where others come and go, each in a folder. */
  constructor(own: readonly string[], added?: string) {
    this.#own = own
    this.#added = added
    this.#now = { state: '', folders: own }
  }

  profile: Conformance['profile'] = async (canonical) => {
    const url = urlOf(canonical)
    return this.#find(canonical, async (folder) => (await this.#file<string>(folder, INDEX))[url])
  }

  valueSet: Conformance['valueSet'] = (canonical) => this.#find(canonical, () => VALUE_SETS)

  codeSystem: Conformance['codeSystem'] = (canonical) => this.#find(canonical, () => CODE_SYSTEMS)

  state: Conformance['state'] = async () => {
    if (this.#added === undefined) return ''
    const state = await stateOf(this.#added)
    if (state !== this.#now.state) {
      this.#now = { state, folders: [...this.#own, ...(await packagesIn(this.#added)).map((name) => join(this.#added!, name))] }
      this.#files = new Map([...this.#files].filter(([path]) => this.#own.some((folder) => path.startsWith(folder))))
    }
    return state
  }

  async #find<Definition extends Versioned>(
    canonical: string,
    fileOf: (folder: string) => string | undefined | Promise<string | undefined>,
  ): Promise<Definition | undefined> {
    const [url, version] = [urlOf(canonical), canonical.split('|')[1]]
    await this.state()
    let found: Definition | undefined
    for (const folder of this.#now.folders) {
      const file = await fileOf(folder)
      const definition = file === undefined ? undefined : (await this.#file<Definition>(folder, file))[url]
      if (definition === undefined || (version !== undefined && definition.version !== version)) continue
      if (folder === this.#own[0]) return definition
      if (found === undefined || isNewer(definition, found)) found = definition
    }
    return found
  }

  #file<Definition>(folder: string, name: string): Promise<PackageFile<Definition>> {
    const path = join(folder, `${name}.json`)
    let read = this.#files.get(path)
    if (read === undefined) {
      read = readFile(path, 'utf8')
        .catch(this.#own.includes(folder) ? undefined : emptyWhereRemoved)
        .then((text) => definitionsIn(text, this.#own.includes(folder)))
      read.catch(() => this.#files.delete(path))
      this.#files.set(path, read)
    }
    return read as Promise<PackageFile<Definition>>
  }
}

/** Their names in order; none when there is no folder. */
export async function packagesIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error) => {
    if (isMissing(error)) return []
    throw error
  })
  const names = entries.filter((entry) => entry.isDirectory() && !isUnfinished(entry.name)).map(({ name }) => name)
  return names.toSorted()
}

/** Another one after each change. A clock of the file system stands still for some milliseconds, in which names tell. */
async function stateOf(folder: string): Promise<string> {
  try {
    const { mtimeNs, ino } = await stat(folder, { bigint: true })
    const isRecent = Math.abs(Date.now() - Number(mtimeNs / 1_000_000n)) < COARSE
    return `${ino} ${mtimeNs} ${isRecent ? (await packagesIn(folder)).join() : ''}`
  } catch (error) {
    if (isMissing(error)) return 'none'
    throw error
  }
}

function definitionsIn(text: string, isBuiltIn: boolean): PackageFile<never> {
  const definitions: Record<string, unknown> = JSON.parse(text)
  // Of the index they are texts.
  if (isBuiltIn) for (const each of Object.values(definitions)) if (typeof each === 'object') Object.assign(each as object, { isBuiltIn })
  return Object.assign(Object.create(null), definitions)
}

/** Somebody removed it since it was looked for. */
function emptyWhereRemoved(error: unknown): string {
  if (isMissing(error)) return '{}'
  throw error
}

const urlOf = (canonical: string): string => canonical.split('|', 1)[0]!

/** What is retired counts only where there is nothing else; of the same version the first one does. */
function isNewer(a: Versioned, b: Versioned): boolean {
  if (a.isRetired !== b.isRetired) return b.isRetired === true
  return compareVersions(a.version ?? '', b.version ?? '') > 0
}
