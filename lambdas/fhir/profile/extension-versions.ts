/** Versions of extensions that the profiles of a resource name. https://hl7.org/fhir/R4/profiling.html#extensions */
import { splitCanonical } from './canonical.ts'
import type { ProfileTree } from './profile-tree.ts'

/** Canonical URLs with a version, by the `url` of the extension. */
export type ExtensionVersions = ReadonlyMap<string, string>

/** Returns the versions of the extensions that the profiles name. Omits an extension if the profiles name different versions of it. */
export function extensionVersionsOf(profiles: readonly ProfileTree[]): ExtensionVersions {
  const [first, ...others] = profiles.map(versionsIn).filter((versions) => versions.size > 0)
  if (first === undefined || others.length === 0) return first ?? NONE
  const byUrl = Map.groupBy(
    [first, ...others].flatMap((versions) => [...versions]),
    ([url]) => url,
  )
  return new Map([...byUrl.values()].flatMap(([one, ...more]) => (more.every(([, canonical]) => canonical === one![1]) ? [one!] : [])))
}

const NONE: ExtensionVersions = new Map()

const VERSIONS = new WeakMap<ProfileTree, ExtensionVersions>()

/** Returns the versions that one profile names. Cached for the tree of the profile. */
function versionsIn(tree: ProfileTree): ExtensionVersions {
  const cached = VERSIONS.get(tree)
  if (cached !== undefined) return cached
  const named = [...tree.nodes.values()]
    .flatMap(({ types = [] }) => types.flatMap(({ code, profiles = [] }) => (code === 'Extension' ? profiles : [])))
    .filter((canonical) => splitCanonical(canonical).version !== undefined)
  const versions = new Map(named.map((canonical) => [splitCanonical(canonical).url, canonical]))
  VERSIONS.set(tree, versions)
  return versions
}
