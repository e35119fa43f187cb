/** Provenances of an export for a partner. They name only targets that the partner may receive. */
import { isHiddenType, type View } from '../../access/view/view-rules.ts'
import { writeJson } from '../../fhir/json.ts'
import { toLocalReference } from '../../fhir/references.ts'
import { isElement } from '../../fhir/resource.ts'
import type { ResourceVersion } from '../../ports/store/resource-store.ts'
import { toResourceKey } from '../versions/resource-key.ts'
import { resourceOf } from '../versions/version-body.ts'
import { isDamaged, type VersionAsOf } from '../versions/versions-as-of.ts'
import { isOwnedByPatients, type OwnershipContext } from './patient-ownership.ts'

/** Targets that are read at once. Each may be as large as a request body. */
const PAGE = 50

/** `patients`: those of the export. `isPermitted`: whether the partner may receive a version of theirs. */
export type TargetRules = {
  readonly ownership: OwnershipContext
  readonly patients: ReadonlySet<string>
  readonly view: View
  readonly isPermitted: (version: ResourceVersion) => boolean | Promise<boolean>
}

/**
 * Returns the Provenance without the targets that the partner may not receive, or undefined if it has no other. A target that is deleted, on
 * another server or not named by a reference stays.
 */
export async function withPermittedTargets(rules: TargetRules, version: ResourceVersion): Promise<ResourceVersion | undefined> {
  if (version.deleted) return version
  const resource = resourceOf(version)
  const targets: readonly unknown[] = Array.isArray(resource.target) ? resource.target : []
  const kept: unknown[] = []
  for (let first = 0; first < targets.length; first += PAGE)
    kept.push(...(await permittedIn(rules, version, targets.slice(first, first + PAGE))))
  if (kept.length === targets.length) return version
  return kept.length === 0 ? undefined : { ...version, body: Buffer.from(writeJson({ ...resource, target: kept })) }
}

async function permittedIn(rules: TargetRules, { tenant }: ResourceVersion, targets: readonly unknown[]): Promise<readonly unknown[]> {
  const names = targets.map((each) =>
    isElement(each) && typeof each.reference === 'string' ? toLocalReference(each.reference, rules.ownership.bases) : undefined,
  )
  const local = [...new Set(names.filter((name) => name !== undefined))]
  const versions = local.length === 0 ? [] : await rules.ownership.asOf(local.map((name) => toResourceKey(tenant, name)))
  const withheld = new Set<string>()
  for (const [i, name] of local.entries()) if (!(await isTargetPermitted(rules, name, versions[i]))) withheld.add(name)
  return targets.filter((_, i) => names[i] === undefined || !withheld.has(names[i]))
}

/** Whether the partner may receive the target. A damaged one cannot be judged. */
async function isTargetPermitted(
  { ownership, patients, view, isPermitted }: TargetRules,
  name: string,
  version: VersionAsOf,
): Promise<boolean> {
  const type = name.slice(0, name.indexOf('/'))
  if (isHiddenType(type, view)) return false
  if (version === undefined || !ownership.levelTypes.has(type) || type === 'Provenance') return true
  if (isDamaged(version)) return false
  return version.deleted || ((await isOwnedByPatients(ownership, version, (each) => patients.has(each))) && isPermitted(version))
}
