/** What a load sends of a resource or Bundle: every resource under its own id, references between them resolved, so that loading twice is safe. */
import { writeJson } from '../../fhir/json.ts'
import { replaceReferences } from '../../fhir/references.ts'
import { type Element, isElement, isResource, type Resource } from '../../fhir/resource.ts'

/** `text`: an entry of a Bundle as JSON. */
export type LoadEntry = { readonly key: string; readonly text: string; readonly place: string }

/** Bundles are opened, whatever their type; anything else is one entry. Error: a resource without an id. */
export function entriesOf(resource: Resource, place: string): readonly LoadEntry[] {
  if (resource.resourceType !== 'Bundle' || !Array.isArray(resource.entry)) return [entryOf(resource, place)]
  const inside = resource.entry.filter(
    (entry): entry is Element & { readonly resource: Resource } => isElement(entry) && isResource(entry.resource),
  )
  const resources = inside.map(({ resource, fullUrl }) => withId(resource, fullUrl))
  const known = new Map(inside.map(({ fullUrl }, i) => [fullUrl, `${resources[i]!.resourceType}/${resources[i]!.id}`]))
  return resources.map((each, i) =>
    entryOf(
      replaceReferences(each, (reference) => known.get(reference)),
      `${place}#${i}`,
    ),
  )
}

function withId(resource: Resource, fullUrl: unknown): Resource {
  const [, id] = /([A-Za-z0-9\-.]{1,64})$/.exec(String(fullUrl)) ?? []
  return resource.id !== undefined || id === undefined ? resource : { ...resource, id }
}

function entryOf(resource: Resource, place: string): LoadEntry {
  if (resource.id === undefined) throw new Error(`${place}: the ${resource.resourceType} has no id`)
  const key = `${resource.resourceType}/${resource.id}`
  return { key, place, text: `{"resource":${writeJson(resource)},"request":{"method":"PUT","url":${JSON.stringify(key)}}}` }
}
