export type VersionedDefinition = { readonly version?: string; readonly isRetired?: boolean }

/** Compares definitions of one canonical URL by precedence: the newest first, and retired ones after all others. */
export function comparePrecedence(a: VersionedDefinition, b: VersionedDefinition): number {
  const [isRetired, isOtherRetired] = [a.isRetired === true, b.isRetired === true]
  if (isRetired !== isOtherRetired) return isRetired ? 1 : -1
  return compareVersions(b.version ?? '', a.version ?? '')
}

/**
 * Compares versions of a definition, the oldest first. Numbers in them are compared by value, and a pre-release comes before its release.
 * https://semver.org/#spec-item-11
 */
export function compareVersions(a: string, b: string): number {
  const [[ofA, beforeA], [ofB, beforeB]] = [partsOf(a), partsOf(b)]
  const order = VERSIONS.compare(ofA, ofB)
  if (order !== 0 || beforeA === beforeB) return order
  if (beforeA === '' || beforeB === '') return beforeA === '' ? 1 : -1
  return VERSIONS.compare(beforeA, beforeB)
}

const VERSIONS = new Intl.Collator('en', { numeric: true })

function partsOf(version: string): readonly [release: string, before: string] {
  const at = version.indexOf('-')
  return at === -1 ? [version, ''] : [version.slice(0, at), version.slice(at + 1)]
}
