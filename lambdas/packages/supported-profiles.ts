/** Profiles of the added packages, without retired ones, for the CapabilityStatement. */
import type { AddedPackages } from '../ports/definitions/package-store.ts'
import { type OnDamage, PackageReader } from './package-reader.ts'

/** Canonical URLs of profiles, by the resource type that they constrain. */
type ProfilesByType = ReadonlyMap<string, ReadonlySet<string>>

export function supportedProfiles(added: AddedPackages, onDamage: OnDamage): () => Promise<ProfilesByType> {
  let last: { readonly state: string; readonly profiles: Promise<ProfilesByType> } | undefined
  return async () => {
    const { state, packages } = await added.now()
    if (last?.state !== state) {
      last = { state, profiles: profilesIn(packages.map((stored) => new PackageReader(stored, onDamage))) }
      last.profiles.catch(() => (last = undefined))
    }
    return last.profiles
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
