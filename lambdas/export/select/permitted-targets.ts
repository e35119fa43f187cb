/** Provenances of an export for a partner. They name only targets and entities that the partner may receive. */
import { isHiddenType, type View } from '../../access/view/view-rules.ts'
import { withoutWithheldReferences } from '../../partners/provenance-targets.ts'
import type { ResourceKey, ResourceVersion } from '../../ports/store/resource-store.ts'
import { CONTENT } from '../plan/partner-types.ts'
import { isDamaged, type VersionAsOf } from '../versions/versions-as-of.ts'
import { isOwnedByPatients, type OwnershipContext } from './patient-ownership.ts'

/**
 * `patients`: patients of the export. `isReadable`: whether the access of the export covers a version. `isPermitted`: whether the partner
 * may receive a version of one of the patients.
 */
export type TargetRules = {
  readonly ownership: OwnershipContext
  readonly patients: ReadonlySet<string>
  readonly view: View
  readonly isReadable: (version: ResourceVersion) => boolean | Promise<boolean>
  readonly isPermitted: (version: ResourceVersion) => boolean | Promise<boolean>
}

/**
 * Returns the Provenance without the targets and entities that the partner may not receive, whether or not the request names their types.
 * Returns undefined if no target is left. Keeps references to resources that do not exist, or are on another server.
 */
export async function withPermittedTargets(rules: TargetRules, version: ResourceVersion): Promise<ResourceVersion | undefined> {
  if (version.deleted) return version
  return withoutWithheldReferences(version, rules.ownership.bases, async (keys) => {
    const targets = await rules.ownership.asOf(keys)
    const withheld: ResourceKey[] = []
    for (const [i, key] of keys.entries()) if (!(await isTargetPermitted(rules, key, targets[i]))) withheld.push(key)
    return withheld
  })
}

/**
 * Whether the partner may receive the resource. A deletion is judged by the version before it. False for a damaged resource, because it
 * cannot be judged, and for a Binary, which a partner receives only with the document that names it.
 */
async function isTargetPermitted(
  { ownership, patients, view, isReadable, isPermitted }: TargetRules,
  { type }: ResourceKey,
  version: VersionAsOf,
): Promise<boolean> {
  if (isHiddenType(type, view) || type === CONTENT) return false
  if (version === undefined) return true
  // guard: partner-gets-no-withheld-target
  if (isDamaged(version) || !(await isReadable(version)) || !(await isPermitted(version))) return false
  return !ownership.levelTypes.has(type) || isOwnedByPatients(ownership, version, (each) => patients.has(each))
}
