/** Profiles of the added packages, without retired ones, and their ImplementationGuides, for the CapabilityStatement. */
import { VERSIONS_FILE } from '../fhir/profile/definitions/package-files.ts'
import type { Resource } from '../fhir/resource.ts'
import type { AddedGuides } from '../ports/definitions/package-definitions.ts'
import type { AddedPackages } from '../ports/definitions/package-store.ts'
import { type OnDamage, PackageReader } from './package-reader.ts'
import { readRequirements } from './required-capabilities.ts'

/** Canonical URLs of profiles by the resource type that they constrain. A URL has its version if the package stores versions. */
type ProfilesByType = ReadonlyMap<string, ReadonlySet<string>>

export const supportedProfiles = (added: AddedPackages, onDamage: OnDamage): (() => Promise<ProfilesByType>) =>
  ofPackages(added, onDamage, profilesIn)

/** File with the version of the ImplementationGuide of a package, by canonical URL. Absent in a package without an ImplementationGuide. */
const GUIDES_FILE = 'guides'

/** Returns the file with the ImplementationGuide of a package. Archives may also contain guides without the version of the package. */
export function guideFilesOf(packageVersion: string, guides: readonly Resource[]): readonly (readonly [file: string, text: string])[] {
  const own = guides.find(({ url, version }) => typeof url === 'string' && version === packageVersion)
  return own === undefined ? [] : [[`${GUIDES_FILE}.json`, JSON.stringify({ [String(own.url)]: packageVersion })]]
}

/** Returns the ImplementationGuides of the added packages, and the requirements of their CapabilityStatements. */
export const addedGuidesOf = (added: AddedPackages, onDamage: OnDamage): (() => Promise<AddedGuides>) =>
  ofPackages(added, onDamage, async (packages) => {
    const guides = (await Promise.all(packages.map((each) => each.optionalFile<string>(GUIDES_FILE)))).flatMap((file) =>
      Object.entries(file).map(([url, version]) => `${url}|${version}`),
    )
    const requirements = await readRequirements(packages)
    return { guides: [...new Set(guides)].toSorted(), requirements: requirements.toSorted((a, b) => (a.canonical < b.canonical ? -1 : 1)) }
  })

/** Returns a function that reads a result from the added packages. It reads them again only after they have changed. */
export function ofPackages<Result>(
  added: AddedPackages,
  onDamage: OnDamage,
  read: (packages: readonly PackageReader[]) => Promise<Result>,
): () => Promise<Result> {
  let last: { readonly state: string; readonly result: Promise<Result> } | undefined
  return async () => {
    const { state, packages } = await added.now()
    if (last?.state !== state) {
      last = { state, result: read(packages.map((stored) => new PackageReader(stored, onDamage))) }
      last.result.catch(() => (last = undefined))
    }
    return last.result
  }
}

async function profilesIn(packages: readonly PackageReader[]): Promise<ProfilesByType> {
  const profilesByType = new Map<string, Set<string>>()
  for (const [canonical, type] of (await Promise.all(packages.map(indexOf))).flat())
    profilesByType.set(type, (profilesByType.get(type) ?? new Set()).add(canonical))
  return profilesByType
}

async function indexOf(each: PackageReader): Promise<readonly (readonly [canonical: string, type: string])[]> {
  const [index, retired, versions] = await Promise.all([
    each.file<string>('index'),
    each.optionalFile<string>('retired'),
    each.optionalFile<string>(VERSIONS_FILE),
  ])
  return Object.entries(index)
    .filter(([url]) => !Object.hasOwn(retired, url))
    .map(([url, type]) => [versions[url] === undefined ? url : `${url}|${versions[url]}`, type])
}
