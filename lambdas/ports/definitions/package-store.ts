/**
 * Packages of definitions that were added to a server's own, as the files that checks read.
 *
 * Guarantees
 * - A package is there whole or not at all, also where who adds or removes it is killed, and its files do not change.
 * - Of several who add and remove at once, none undoes what another did.
 * - What was done is seen by all within ten seconds, by who did it at once. Where which there are cannot be read, those that were there last count
 *   for an hour at most.
 */
export type PackageLabel = { readonly name: string; readonly version: string }

export type StoredPackage = PackageLabel & {
  /** undefined: there is none of that name. Fails where the machine does. */
  readonly read: (file: string) => Promise<string | undefined>
  /** Whether it was not removed meanwhile: looked up now. */
  readonly isThere: () => Promise<boolean>
}

/** `state`: another text after each change of which packages there are. */
export type PackageListing = { readonly state: string; readonly packages: readonly StoredPackage[] }

export interface AddedPackages {
  /** In the order of their names. To ask costs next to nothing. */
  now(): Promise<PackageListing>
}

export interface PackageStore extends AddedPackages {
  /** Name of the file → text. false: there is one of that name and version already. */
  add(label: PackageLabel, files: ReadonlyMap<string, string>): Promise<boolean>
  /** false: it is not there. */
  remove(label: PackageLabel): Promise<boolean>
}

export const isSamePackage = (a: PackageLabel, b: PackageLabel): boolean => a.name === b.name && a.version === b.version
