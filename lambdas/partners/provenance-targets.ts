/** Targets and entities of a Provenance. A partner receives only those that it may read. */
import { withoutLostReferences } from '../access/view/contained-references.ts'
import { resourceOf } from '../access/view/viewed-version.ts'
import { writeJson } from '../fhir/json.ts'
import { type BaseUrls, toLocalReference } from '../fhir/references.ts'
import { isElement } from '../fhir/resource.ts'
import { toResourceKey } from '../ports/store/resource-key.ts'
import type { ResourceKey, ResourceVersion } from '../ports/store/resource-store.ts'

/** Resources that are read at once. Each may be as large as a request body. */
const PAGE = 50

/** Returns the resources that the partner may not receive. */
export type WithheldAmong = (keys: readonly ResourceKey[]) => Promise<readonly ResourceKey[]>

/**
 * Returns the Provenance without the withheld targets and entities, or undefined if it has no other target. Keeps references to other
 * servers, and references that are only an identifier. If it removes a resource, it also removes the narrative, which could name it. Keeps
 * agents, because they are parties, such as the performer of an Observation.
 */
export async function withoutWithheldReferences(
  version: ResourceVersion,
  bases: BaseUrls,
  withheldAmong: WithheldAmong,
): Promise<ResourceVersion | undefined> {
  const resource = resourceOf(version)
  const { text: _, target, entity, ...rest } = resource
  const [targets, entities] = [target, entity].map((each): readonly unknown[] => (Array.isArray(each) ? each : [])) as [Items, Items]
  const shown = (items: Items, referenceOf: (item: unknown) => unknown) => shownAmong(version, items, referenceOf, bases, withheldAmong)
  const keptTargets = await shown(targets, (each) => each)
  if (keptTargets.length === 0 && targets.length > 0) return undefined
  // guard: partner-gets-no-withheld-entity
  const keptEntities = await shown(entities, (each) => (isElement(each) ? each.what : undefined))
  if (keptTargets.length === targets.length && keptEntities.length === entities.length) return version
  const left = { ...rest, target: keptTargets, ...(keptEntities.length === 0 ? {} : { entity: keptEntities }) }
  return { ...version, body: Buffer.from(writeJson(withoutLostReferences(resource, left))) }
}

type Items = readonly unknown[]

/** Returns the items whose resource is not withheld. `referenceOf`: returns the Reference of an item. */
async function shownAmong(
  { tenant }: ResourceVersion,
  items: Items,
  referenceOf: (item: unknown) => unknown,
  bases: BaseUrls,
  withheldAmong: WithheldAmong,
): Promise<Items> {
  const kept: unknown[] = []
  for (let first = 0; first < items.length; first += PAGE) {
    const page = items.slice(first, first + PAGE)
    const names = page.map(referenceOf).map((each) => {
      return isElement(each) && typeof each.reference === 'string' ? toLocalReference(each.reference, bases) : undefined
    })
    const local = [...new Set(names.filter((name) => name !== undefined))]
    const keys = local.map((name) => toResourceKey(tenant, name))
    const withheld = keys.length === 0 ? [] : (await withheldAmong(keys)).map(({ type, id }) => `${type}/${id}`)
    kept.push(...page.filter((_, i) => names[i] === undefined || !withheld.includes(names[i])))
  }
  return kept
}

/** Whether a Provenance names another Patient than the one in context. A Provenance of a load names all of its Patients. */
export const namesOthers = ({ type, compartments }: ResourceVersion, isShown: (patient: string) => boolean): boolean =>
  type === 'Provenance' && compartments.some((name) => name.startsWith('Patient/') && !isShown(name))
