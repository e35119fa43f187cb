/**
 * References in a resource: those to this server, those by search, and how they are replaced.
 * https://hl7.org/fhir/R4/http.html#trules
 */
import { isElement, type Resource } from './resource.ts'
import { isResourceType } from './resource-types.ts'

/** Another text for a reference; undefined: it stays. */
type Replace = (reference: string) => string | undefined

/**
 * The resource with every reference `replace` knows another text for, and every link of a narrative `replaceLink` does; the same object
 * where there is none. The entries of a Bundle stay as they are: what they refer to is that Bundle's affair.
 * https://hl7.org/fhir/R4/bundle.html#references
 */
export const replaceReferences = (resource: Resource, replace: Replace, replaceLink?: Replace): Resource =>
  walk(resource, { replace, replaceLink }, true) as Resource

/** The references to other resources by search (`Patient?identifier=1`), perhaps some twice. https://hl7.org/fhir/R4/http.html#trules */
export function conditionalReferencesOf(resource: Resource | undefined): readonly string[] {
  const found: string[] = []
  if (resource !== undefined)
    replaceReferences(resource, (reference) => {
      if (isConditionalReference(reference)) found.push(reference)
      return undefined
    })
  return found
}

export const isConditionalReference = (reference: string): boolean => reference.includes('?') && /^[A-Z][A-Za-z]*\?/.test(reference)

/** `Type/id` of every reference to a resource of this server, with its place. */
export function localReferencesOf(resource: Resource, bases: BaseUrls): readonly { readonly reference: string; readonly path: string }[] {
  const found: { readonly reference: string; readonly path: string }[] = []
  visitTexts(resource, resource.resourceType, (name, text, path) => {
    const reference = name === 'reference' ? toLocalReference(text, bases) : undefined
    if (reference !== undefined) found.push({ reference, path })
  })
  return found
}

/** The first element that says this text, `Observation.subject.reference`. */
export function referenceLocationOf(resource: Resource, reference: string): string | undefined {
  let place: string | undefined
  visitTexts(resource, resource.resourceType, (_, text, path) => {
    if (text === reference) place ??= path
  })
  return place
}

function visitTexts(tree: unknown, path: string, visit: (name: string, text: string, path: string) => void): void {
  if (Array.isArray(tree)) for (const [i, item] of tree.entries()) visitTexts(item, `${path}[${i}]`, visit)
  else if (isElement(tree))
    for (const [name, value] of Object.entries(tree)) {
      if (typeof value === 'string') visit(name, value, `${path}.${name}`)
      else visitTexts(value, `${path}.${name}`, visit)
    }
}

/** `Type/id`, perhaps with a version. */
export const RELATIVE_REFERENCE = /^([A-Z][A-Za-z]*)\/([A-Za-z0-9\-.]{1,64})(?:\/_history\/[A-Za-z0-9\-.]{1,64})?$/

/** Addresses of this server, each without a slash at the end: what is told with one of them is told of this server. */
export type BaseUrls = { readonly baseUrl?: string; readonly otherBases?: readonly string[] }

/** The one of them that stands before a path or a query; undefined: it is another server's, or is relative. */
export const baseUrlOf = (url: string, { baseUrl, otherBases }: BaseUrls): string | undefined =>
  stands(baseUrl, url) ? baseUrl : otherBases?.find((base) => stands(base, url))

const stands = (base: string | undefined, url: string): boolean =>
  base !== undefined && url.startsWith(base) && '/?'.includes(url[base.length] ?? '/')

/** `http://this.server/fhir/Patient/1` → `Patient/1`. */
export function toRelative(text: string, bases: BaseUrls): string {
  const { length } = baseUrlOf(text, bases) ?? ''
  return length > 0 && text[length] === '/' ? text.slice(length + 1) : text
}

/** `Type/id`, of what may be told with a version or with a base of this server. */
export function toLocalReference(text: string, bases: BaseUrls): string | undefined {
  const [, type = '', id] = RELATIVE_REFERENCE.exec(toRelative(text, bases)) ?? []
  return isResourceType(type) ? `${type}/${id}` : undefined
}

/** Bodies are written by this server, which puts no blanks between and escapes nothing needless. */
const MEMBER = '"reference":"'

/**
 * Every reference in a resource as this server wrote it, perhaps some twice: wherever a member called `reference` stands, for in the text of a
 * string its quotes would have backslashes before them. Nothing is parsed. `text`: its bytes, a character each.
 */
export function scanReferences(text: string): readonly string[] {
  const found: string[] = []
  for (let at = text.indexOf(MEMBER); at !== -1; at = text.indexOf(MEMBER, at + 1)) {
    const start = at + MEMBER.length
    found.push(text.slice(start, text.indexOf('"', start)))
  }
  return found
}

type Replacing = { readonly replace: Replace; readonly replaceLink: Replace | undefined }

function walk(tree: unknown, by: Replacing, isResource: boolean): unknown {
  if (typeof tree !== 'object' || tree === null) return tree
  if (Array.isArray(tree)) return walkItems(tree, by)
  let copy: Record<string, unknown> | undefined
  for (const name in tree) {
    const before = (tree as Record<string, unknown>)[name]
    if (name === 'entry' && (tree as Partial<Resource>).resourceType === 'Bundle') continue
    const after =
      typeof before === 'string' ? replaced(name, before, isResource, by) : walk(before, by, name === 'resource' || name === 'contained')
    if (after === before) continue
    copy ??= { ...tree }
    copy[name] = after
  }
  return copy ?? tree
}

function walkItems(items: readonly unknown[], by: Replacing): readonly unknown[] {
  let copy: unknown[] | undefined
  for (let i = 0; i < items.length; i++) {
    const after = walk(items[i], by, isElement(items[i]) && typeof (items[i] as { resourceType?: unknown }).resourceType === 'string')
    if (after === items[i]) continue
    copy ??= [...items]
    copy[i] = after
  }
  return copy ?? items
}

/** Elements of type Reference, uri and url can hold one, and links of a narrative; a resource's own `url` and canonicals stay. */
function replaced(name: string, value: string, isResource: boolean, { replace, replaceLink }: Replacing): string {
  if (name === 'div') return replaceLink === undefined ? value : replaceLinks(value, replaceLink)
  const holdsOne =
    name === 'reference' || name === 'valueUri' || name === 'valueUrl' || (name === 'url' && !isResource && value.startsWith('urn:'))
  return holdsOne ? (replace(value) ?? value) : value
}

const LINK = /(\s(?:href|src)\s*=\s*)("[^"]*"|'[^']*')/g

export const hasLinks = (narrative: string): boolean => narrative.search(LINK) !== -1

/** A narrative with another text for what its links and images lead to. https://hl7.org/fhir/R4/http.html#trules */
export const replaceLinks = (narrative: string, replace: Replace): string =>
  narrative.replace(LINK, (attribute, name: string, quoted: string) => {
    const to = replace(quoted.slice(1, -1))
    return to === undefined ? attribute : `${name}"${to}"`
  })
