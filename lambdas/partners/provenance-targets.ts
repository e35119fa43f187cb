/** Targets of a Provenance. A partner receives only permitted targets. */
import { resourceOf } from '../access/view/viewed-version.ts'
import { writeJson } from '../fhir/json.ts'
import { type BaseUrls, toLocalReference } from '../fhir/references.ts'
import { isElement } from '../fhir/resource.ts'
import { toResourceKey } from '../ports/store/resource-key.ts'
import type { ResourceKey, ResourceVersion } from '../ports/store/resource-store.ts'

/** Targets that are read at once. Each may be as large as a request body. */
const PAGE = 50

/** Returns the resources that the partner may not receive. */
export type WithheldAmong = (keys: readonly ResourceKey[]) => Promise<readonly ResourceKey[]>

/**
 * Returns the Provenance without the withheld targets, or undefined if it has no other. A target on another server, or without a reference,
 * stays.
 */
export async function withoutTargets(
  version: ResourceVersion,
  bases: BaseUrls,
  withheldAmong: WithheldAmong,
): Promise<ResourceVersion | undefined> {
  const resource = resourceOf(version)
  const targets: readonly unknown[] = Array.isArray(resource.target) ? resource.target : []
  const kept: unknown[] = []
  for (let first = 0; first < targets.length; first += PAGE) {
    const page = targets.slice(first, first + PAGE)
    const names = page.map((each) =>
      isElement(each) && typeof each.reference === 'string' ? toLocalReference(each.reference, bases) : undefined,
    )
    const local = [...new Set(names.filter((name) => name !== undefined))]
    const keys = local.map((name) => toResourceKey(version.tenant, name))
    const withheld = keys.length === 0 ? [] : (await withheldAmong(keys)).map(({ type, id }) => `${type}/${id}`)
    kept.push(...page.filter((_, i) => names[i] === undefined || !withheld.includes(names[i])))
  }
  if (kept.length === targets.length) return version
  return kept.length === 0 ? undefined : { ...version, body: Buffer.from(writeJson({ ...resource, target: kept })) }
}

/** Whether a Provenance names another Patient than the one in context. A Provenance of a load names all of its Patients. */
export const namesOthers = ({ type, compartments }: ResourceVersion, isShown: (patient: string) => boolean): boolean =>
  type === 'Provenance' && compartments.some((name) => name.startsWith('Patient/') && !isShown(name))
