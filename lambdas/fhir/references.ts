/** References in a resource: local references, conditional references, and their replacement. https://hl7.org/fhir/R4/http.html#trules */
import { isElement, type Resource } from './resource.ts'
import { isResourceType } from './resource-types.ts'

/** Returns the text to put in place of a reference or link, or undefined to leave it unchanged. */
type Replace = (reference: string) => string | undefined

/**
 * Returns the resource with the references that `replace` changes and the narrative links that `replaceLink` changes. Returns the same
 * object if nothing changes. Entries of a Bundle stay unchanged, because their references have a meaning within that Bundle.
 * https://hl7.org/fhir/R4/bundle.html#references
 */
export const replaceReferences = (resource: Resource, replace: Replace, replaceLink?: Replace): Resource =>
  walk(resource, { replace, replaceLink }, true) as Resource

/**
 * Returns the conditional references of a resource (`Patient?identifier=1`), possibly with duplicates.
 * https://hl7.org/fhir/R4/http.html#trules
 */
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

/** Returns `Type/id` and the path of every reference to a resource of this server, relative or with a base URL of this server. */
export function localReferencesOf(resource: Resource, bases: BaseUrls): readonly { readonly reference: string; readonly path: string }[] {
  const found: { readonly reference: string; readonly path: string }[] = []
  visitTexts(resource, resource.resourceType, (name, text, path) => {
    const reference = name === 'reference' ? toLocalReference(text, bases) : undefined
    if (reference !== undefined) found.push({ reference, path })
  })
  return found
}

/** Returns the FHIRPath of the first element with this text, such as `Observation.subject.reference`, or undefined if there is none. */
export function referenceLocationOf(resource: Resource, reference: string): string | undefined {
  let location: string | undefined
  visitTexts(resource, resource.resourceType, (_, text, path) => {
    if (text === reference) location ??= path
  })
  return location
}

function visitTexts(tree: unknown, path: string, visit: (name: string, text: string, path: string) => void): void {
  if (Array.isArray(tree)) for (const [i, item] of tree.entries()) visitTexts(item, `${path}[${i}]`, visit)
  else if (isElement(tree))
    for (const [name, value] of Object.entries(tree)) {
      if (typeof value === 'string') visit(name, value, `${path}.${name}`)
      else visitTexts(value, `${path}.${name}`, visit)
    }
}

/** Relative reference: `Type/id`, optionally with a version. */
export const RELATIVE_REFERENCE = /^([A-Z][A-Za-z]*)\/([A-Za-z0-9\-.]{1,64})(?:\/_history\/[A-Za-z0-9\-.]{1,64})?$/

/** Base URLs of this server, each without a trailing slash. A URL with any of them belongs to this server. */
export type BaseUrls = { readonly baseUrl?: string; readonly otherBases?: readonly string[] }

/** Returns the base URL of this server with which a URL begins. Returns undefined if the URL is relative or belongs to another server. */
export const baseUrlOf = (url: string, { baseUrl, otherBases }: BaseUrls): string | undefined =>
  isOwnBase(baseUrl, url) ? baseUrl : otherBases?.find((base) => isOwnBase(base, url))

const isOwnBase = (base: string | undefined, url: string): boolean =>
  base !== undefined && url.startsWith(base) && '/?'.includes(url[base.length] ?? '/')

/** Returns a URL of this server as a relative reference: `http://this.server/fhir/Patient/1` → `Patient/1`. Other texts stay unchanged. */
export function toRelative(text: string, bases: BaseUrls): string {
  const { length } = baseUrlOf(text, bases) ?? ''
  return length > 0 && text[length] === '/' ? text.slice(length + 1) : text
}

/** Returns `Type/id` of a reference, which may have a version or a base URL of this server. Returns undefined for any other reference. */
export function toLocalReference(text: string, bases: BaseUrls): string | undefined {
  const [, type = '', id] = RELATIVE_REFERENCE.exec(toRelative(text, bases)) ?? []
  return isResourceType(type) ? `${type}/${id}` : undefined
}

/**
 * JSON text before a reference. It is always the same, because this server writes bodies without white space and without needless escapes.
 */
const MEMBER = '"reference":"'

/**
 * Returns every reference in the JSON of a resource that this server wrote, possibly with duplicates. Searches for members named
 * `reference` without parsing. A string value cannot match, because its quotes have backslashes. `text`: bytes of the JSON, one character
 * per byte.
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

function walk(tree: unknown, replacing: Replacing, isResource: boolean): unknown {
  if (typeof tree !== 'object' || tree === null) return tree
  if (Array.isArray(tree)) return walkItems(tree, replacing)
  let copy: Record<string, unknown> | undefined
  for (const name in tree) {
    const before = (tree as Record<string, unknown>)[name]
    if (name === 'entry' && (tree as Partial<Resource>).resourceType === 'Bundle') continue
    const after =
      typeof before === 'string'
        ? replaced(name, before, isResource, replacing)
        : walk(before, replacing, name === 'resource' || name === 'contained')
    if (after === before) continue
    copy ??= { ...tree }
    copy[name] = after
  }
  return copy ?? tree
}

function walkItems(items: readonly unknown[], replacing: Replacing): readonly unknown[] {
  let copy: unknown[] | undefined
  for (let i = 0; i < items.length; i++) {
    const after = walk(
      items[i],
      replacing,
      isElement(items[i]) && typeof (items[i] as { resourceType?: unknown }).resourceType === 'string',
    )
    if (after === items[i]) continue
    copy ??= [...items]
    copy[i] = after
  }
  return copy ?? items
}

/**
 * Returns the text with another reference or other links. References are replaced in `reference`, `valueUri` and `valueUrl`, and in a `url`
 * that is a URN, except the `url` of the resource itself. Links are replaced in a narrative. Canonicals stay unchanged.
 */
function replaced(name: string, value: string, isResource: boolean, { replace, replaceLink }: Replacing): string {
  if (name === 'div') return replaceLink === undefined ? value : replaceLinks(value, replaceLink)
  const holdsOne =
    name === 'reference' || name === 'valueUri' || name === 'valueUrl' || (name === 'url' && !isResource && value.startsWith('urn:'))
  return holdsOne ? (replace(value) ?? value) : value
}

const LINK = /(\s(?:href|src)\s*=\s*)("[^"]*"|'[^']*')/g

export const hasLinks = (narrative: string): boolean => narrative.search(LINK) !== -1

/** Returns a narrative in which `replace` changes the targets of links and images. https://hl7.org/fhir/R4/http.html#trules */
export const replaceLinks = (narrative: string, replace: Replace): string =>
  narrative.replace(LINK, (attribute, name: string, quoted: string) => {
    const to = replace(quoted.slice(1, -1))
    return to === undefined ? attribute : `${name}"${to}"`
  })
