/**
 * Absolute URLs for attachments. Exported resources leave the server, and relative URLs would not resolve there.
 * https://hl7.org/fhir/R4/datatypes.html#Attachment
 */
import { R4 } from './definitions/r4.ts'
import { type Element, isElement, isResource, type Resource } from './resource.ts'

/**
 * Returns the resource with absolute attachment URLs, or the same object if nothing changes. `baseUrl`: base URL of this server, without a
 * trailing slash.
 */
export const withAbsoluteAttachments = (resource: Resource, baseUrl: string): Resource =>
  within(resource, resource.resourceType, baseUrl) as Resource

function within(tree: unknown, type: string, baseUrl: string): unknown {
  if (Array.isArray(tree)) return changedItems(tree, (item) => within(item, type, baseUrl))
  if (!isElement(tree)) return tree
  if (type === 'Attachment') return absolute(tree, baseUrl)
  const { elements } = R4.shapes[isResource(tree) ? tree.resourceType : type] ?? { elements: {} }
  let copy: Record<string, unknown> | undefined
  for (const [name, before] of Object.entries(tree)) {
    const childType = typeof before === 'object' ? elements[name]?.type : undefined
    const after = childType === undefined ? before : within(before, childType, baseUrl)
    if (after === before) continue
    copy ??= { ...tree }
    copy[name] = after
  }
  return copy ?? tree
}

function changedItems(items: readonly unknown[], change: (item: unknown) => unknown): readonly unknown[] {
  const changed = items.map(change)
  return changed.some((item, i) => item !== items[i]) ? changed : items
}

/**
 * Returns the attachment with its relative URL resolved against `baseUrl`. Unchanged are absolute URLs, fragments (`#id`, a contained
 * resource) and texts that are no URL.
 */
function absolute(attachment: Element, baseUrl: string): Element {
  const { url } = attachment
  if (typeof url !== 'string' || url === '' || url.startsWith('#') || URL.canParse(url)) return attachment
  return URL.canParse(url, `${baseUrl}/`) ? { ...attachment, url: new URL(url, `${baseUrl}/`).href } : attachment
}
