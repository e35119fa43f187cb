/** Versions of the definitions of a package and its dependencies. They resolve canonical URLs without a version in this package. */
import { VERSIONS_FILE } from '../fhir/profile/definitions/package-files.ts'
import { isSamePackage } from '../ports/definitions/package-store.ts'
import { comparePrecedence } from '../ports/definitions/version-order.ts'
import { dependenciesOf, matchesRequest, R4 } from './package-labels.ts'
import type { PackageReader } from './package-reader.ts'

type Versions = Readonly<Record<string, string>>

/**
 * Returns the version of the definition that a URL means within a package, or undefined if neither it nor its dependencies have a version.
 */
export type VersionOf = (url: string) => string | undefined

/** Packages at one state of their list. */
export type Listed = { readonly state: string; readonly packages: readonly PackageReader[] }

/** Definition with its package. `listed`: packages in which its dependencies are found. */
export type Found<Definition> = { readonly definition: Definition; readonly from: PackageReader; readonly listed: Listed }

const CACHE = new WeakMap<Listed, Map<PackageReader, Promise<VersionOf>>>()

/** Returns the versions within a package: its own, then the newest of its dependencies. Cached until the list of packages changes. */
export function versionsWithin({ from, listed }: Omit<Found<unknown>, 'definition'>): Promise<VersionOf> {
  const cache = CACHE.get(listed) ?? new Map<PackageReader, Promise<VersionOf>>()
  CACHE.set(listed, cache)
  const versions = cache.get(from) ?? readVersions(from, listed.packages)
  cache.set(from, versions)
  versions.catch(() => cache.delete(from))
  return versions
}

async function readVersions(from: PackageReader, packages: readonly PackageReader[]): Promise<VersionOf> {
  const wanted = dependenciesOf({ dependencies: (await from.manifest())?.dependencies })
  const isDependency = ({ label }: PackageReader): boolean =>
    label.name !== R4 && !isSamePackage(label, from.label) && wanted.some((one) => matchesRequest(label, one))
  const [own = {}, ...others] = await Promise.all([from, ...packages.filter(isDependency)].map(versionsOf))
  return (url) => own[url] ?? newestOf(others, url)
}

const versionsOf = (each: PackageReader): Promise<Versions> => each.optionalFile<string>(VERSIONS_FILE)

const newestOf = (all: readonly Versions[], url: string): string | undefined =>
  all
    .flatMap((versions) => (versions[url] === undefined ? [] : [{ version: versions[url] }]))
    .toSorted(comparePrecedence)
    .at(0)?.version
