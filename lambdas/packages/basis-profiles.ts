/** Profiles of claims without amounts in the added packages. Views name them instead of the profiles that require amounts. */
import type { Profile } from '../fhir/profile/definition.ts'
import type { AddedPackages } from '../ports/definitions/package-store.ts'
import type { OnDamage, PackageReader } from './package-reader.ts'
import { ofPackages } from './supported-profiles.ts'

/** The Basis profiles of CARIN. http://hl7.org/fhir/us/carin-bb/ */
const BASIS = /\/C4BB-ExplanationOfBenefit-[^/]+-Basis$/

/** Returns the canonical URLs of these profiles, each without and with its version. */
export const basisProfilesOf = (added: AddedPackages, onDamage: OnDamage): (() => Promise<ReadonlySet<string>>) =>
  ofPackages(added, onDamage, async (packages) => new Set((await Promise.all(packages.map(basisProfilesIn))).flat()))

async function basisProfilesIn(each: PackageReader): Promise<readonly string[]> {
  const found = Object.entries(await each.file<string>('index')).filter(([canonical]) => BASIS.test(canonical))
  const profiles = found.map(async ([canonical, file]) => (await each.file<Profile>(file))[canonical])
  return (await Promise.all(profiles)).flatMap((profile) =>
    profile === undefined ? [] : [profile.url, ...(profile.version === undefined ? [] : [`${profile.url}|${profile.version}`])],
  )
}
