/** Provenances of an export for a partner. They name only targets that the partner may receive. */
import { isHiddenType, type View } from '../../access/view/view-rules.ts'
import { withoutTargets } from '../../partners/provenance-targets.ts'
import type { ResourceKey, ResourceVersion } from '../../ports/store/resource-store.ts'
import { isDamaged, type VersionAsOf } from '../versions/versions-as-of.ts'
import { isOwnedByPatients, type OwnershipContext } from './patient-ownership.ts'

/** `patients`: patients of the export. `isPermitted`: whether the partner may receive a version of one of them. */
export type TargetRules = {
  readonly ownership: OwnershipContext
  readonly patients: ReadonlySet<string>
  readonly view: View
  readonly isPermitted: (version: ResourceVersion) => boolean | Promise<boolean>
}

/**
 * Returns the Provenance without the targets that the partner may not receive, or undefined if no target is left. Keeps targets that are
 * deleted, on another server, or without a reference.
 */
export async function withPermittedTargets(rules: TargetRules, version: ResourceVersion): Promise<ResourceVersion | undefined> {
  if (version.deleted) return version
  return withoutTargets(version, rules.ownership.bases, async (keys) => {
    const targets = await rules.ownership.asOf(keys)
    const withheld: ResourceKey[] = []
    for (const [i, key] of keys.entries()) if (!(await isTargetPermitted(rules, key, targets[i]))) withheld.push(key)
    return withheld
  })
}

/** Whether the partner may receive the target. False for a damaged target, because it cannot be judged. */
async function isTargetPermitted(
  { ownership, patients, view, isPermitted }: TargetRules,
  { type }: ResourceKey,
  version: VersionAsOf,
): Promise<boolean> {
  if (isHiddenType(type, view)) return false
  if (version === undefined || !ownership.levelTypes.has(type) || type === 'Provenance') return true
  if (isDamaged(version)) return false
  return version.deleted || ((await isOwnedByPatients(ownership, version, (each) => patients.has(each))) && isPermitted(version))
}
