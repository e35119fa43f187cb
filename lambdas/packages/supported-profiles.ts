/** Profiles of the added packages, without retired ones, and their ImplementationGuides, for the CapabilityStatement. */
import type { Resource } from '../fhir/resource.ts'
import type { AddedPackages } from '../ports/definitions/package-store.ts'
import { type OnDamage, PackageReader } from './package-reader.ts'

/** Canonical URLs of profiles, by the resource type that they constrain. */
type ProfilesByType = ReadonlyMap<string, ReadonlySet<string>>

export const supportedProfiles = (added: AddedPackages, onDamage: OnDamage): (() => Promise<ProfilesByType>) =>
  ofPackages(added, onDamage, profilesIn)

/** File with the version of the ImplementationGuide of a package, by canonical URL. A package without one has no such file. */
const GUIDES_FILE = 'guides'

/** Returns the file with the ImplementationGuide of a package. Archives may also contain guides without the version of the package. */
export function guideFilesOf(packageVersion: string, guides: readonly Resource[]): readonly (readonly [file: string, text: string])[] {
  const own = guides.find(({ url, version }) => typeof url === 'string' && version === packageVersion)
  return own === undefined ? [] : [[`${GUIDES_FILE}.json`, JSON.stringify({ [String(own.url)]: packageVersion })]]
}

/** Returns the ImplementationGuides of the added packages, as `url|version`. */
export const addedGuidesOf = (added: AddedPackages, onDamage: OnDamage): (() => Promise<readonly string[]>) =>
  ofPackages(added, onDamage, async (packages) => {
    const files = await Promise.all(packages.map((each) => each.file<string>(GUIDES_FILE)))
    return [...new Set(files.flatMap((file) => Object.entries(file).map(([url, version]) => `${url}|${version}`)))].toSorted()
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
  const [index, retired] = await Promise.all([each.file<string>('index'), each.file<string>('retired')])
  return Object.entries(index).filter(([canonical]) => !Object.hasOwn(retired, canonical))
}
