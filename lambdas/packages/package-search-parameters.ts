/** SearchParameters of packages: the stored parts of one package, and the SearchParameters of all added packages. */
import type { Resource } from '../fhir/resource.ts'
import { ACTIVATED, type PackageDefinitions } from '../ports/definitions/package-definitions.ts'
import type { AddedPackages, PackageListing, StoredPackage } from '../ports/definitions/package-store.ts'
import { type OnDamage, PackageReader } from './package-reader.ts'

/** File with the SearchParameters of a package, by canonical URL. Absent in a package without SearchParameters. */
const SEARCH_PARAMETERS_FILE = 'search-parameters'

/**
 * Maximum SearchParameters of a package, more than R4 has. Larger packages are rejected, because every process that builds documents
 * compiles them all.
 */
export const MAX_PACKAGE_PARAMETERS = 2_000

/** Elements of a SearchParameter that determine its results. */
const ELEMENTS = ['resourceType', 'url', 'version', 'status', 'code', 'type', 'base', 'expression', 'target', 'component'] as const

/** Returns the file with these SearchParameters. Of several with one canonical URL, the first one is stored. `drafts`: see storedParameterOf. */
export function searchParameterFilesOf(
  parameters: readonly Resource[],
  drafts: 'inactive' | 'activated' = 'inactive',
): readonly (readonly [file: string, text: string])[] {
  if (parameters.length === 0) return []
  const byUrl = new Map(parameters.toReversed().map((each) => [String(each.url), storedParameterOf(each, drafts)]))
  return [[`${SEARCH_PARAMETERS_FILE}.json`, JSON.stringify(Object.fromEntries([...byUrl].toSorted(([a], [b]) => (a < b ? -1 : 1))))]]
}

/** Returns what is stored of a SearchParameter. `drafts`: whether drafts are marked as activated by the operator. */
export function storedParameterOf(parameter: Resource, drafts: 'inactive' | 'activated'): Resource {
  const elements = ELEMENTS.flatMap((name) => (parameter[name] === undefined ? [] : [[name, parameter[name]]]))
  const mark = drafts === 'activated' && parameter.status === 'draft' ? { [ACTIVATED]: true } : {}
  return { ...(Object.fromEntries(elements) as Resource), ...mark }
}

/** Returns the SearchParameters of the packages. Omits packages without SearchParameters. */
export async function readSearchParameters(packages: readonly StoredPackage[], onDamage: OnDamage): Promise<readonly PackageDefinitions[]> {
  const all = await Promise.all(
    packages.map(async (stored): Promise<PackageDefinitions> => {
      const file = await new PackageReader(stored, onDamage).optionalFile<Resource>(SEARCH_PARAMETERS_FILE)
      return { name: stored.name, version: stored.version, parameters: Object.values(file) }
    }),
  )
  return all.filter(({ parameters }) => parameters.length > 0)
}

/** Returns a function that calls `use` with the SearchParameters of the added packages, unless it did so for the same list before. */
export function packageParameterWatch(
  added: AddedPackages,
  onDamage: OnDamage,
  use: (packages: readonly PackageDefinitions[], listing: PackageListing) => Promise<void>,
): () => Promise<void> {
  let state: string | undefined
  return async () => {
    const listing = await added.now()
    if (listing.state === state) return
    await use(await readSearchParameters(listing.packages, onDamage), listing)
    state = listing.state
  }
}
