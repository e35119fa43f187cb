/**
 * Packages of definitions that an operator added to those of the server. They contain the files that validation reads.
 *
 * Guarantees
 * - A package exists completely or not at all, even if the process that adds or removes it is killed. Its files never change.
 * - Concurrent calls of `add` and `remove` never undo each other.
 * - All processes see a change within ten seconds, and the process that made it at once. While the store of the list is unreachable, the
 *   last list that was read is used, for an hour at most.
 */
export type PackageLabel = { readonly name: string; readonly version: string }

export type StoredPackage = PackageLabel & {
  /** Returns the text of a file, or undefined if the package has no such file. Throws a machine fault if the file cannot be read. */
  readonly read: (file: string) => Promise<string | undefined>
  /** Whether the package still exists. Reads the store at each call. */
  readonly isThere: () => Promise<boolean>
}

/** List of the packages. `state`: text that changes with each change of the list. */
export type PackageListing = { readonly state: string; readonly packages: readonly StoredPackage[] }

export interface AddedPackages {
  /** Returns the packages in the order of their names. The call is cheap: it may return a list that is up to ten seconds old. */
  now(): Promise<PackageListing>
}

export interface PackageStore extends AddedPackages {
  /** Adds a package. `files`: text of each file by its name. Returns false if a package of this name and version exists already. */
  add(label: PackageLabel, files: ReadonlyMap<string, string>): Promise<boolean>
  /** Removes a package. Returns false if it does not exist. */
  remove(label: PackageLabel): Promise<boolean>
}

export const isSamePackage = (a: PackageLabel, b: PackageLabel): boolean => a.name === b.name && a.version === b.version
