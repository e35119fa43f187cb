/** Type of the resource that a Reference refers to, from its text alone. https://hl7.org/fhir/R4/references.html#literal */
import type { Element } from '../resource.ts'
import { findContained } from './contained-resources.ts'

/** Whether the reference refers to this type. `resource`: resource whose contained resources a `#id` names. */
export const refersTo = (reference: unknown, type: string, resource: unknown): boolean => targetTypeOf(reference, resource) === type

export function targetTypeOf(value: unknown, resource: unknown): string | undefined {
  if (typeof value === 'string') return typeOfUrl(value)
  if (typeof value !== 'object' || value === null) return undefined
  const { reference, type } = value as { readonly reference?: unknown; readonly type?: unknown }
  if (typeof reference === 'string') {
    const found = reference.startsWith('#') ? typeOfContained(reference.slice(1), resource) : typeOfUrl(reference)
    if (found !== undefined) return found
  }
  return typeof type === 'string' ? type : undefined
}

function typeOfContained(id: string, resource: unknown): string | undefined {
  const type = findContained(id, (resource as Element | null)?.contained)?.resourceType
  return typeof type === 'string' ? type : undefined
}

/**
 * Returns the resource type in `Patient/1`, `https://host/fhir/Patient/1/_history/2` or `Patient?identifier=x`. Does not check that the
 * type exists.
 */
export function typeOfUrl(url: string): string | undefined {
  if (!url.includes(':')) {
    const query = url.indexOf('?')
    if (query > 0) return url.slice(0, query)
    const slash = url.indexOf('/')
    // Short cut for the most frequent form, `Patient/1`.
    if (slash > 0 && !url.includes('/', slash + 1)) return url.slice(0, slash)
  }
  const history = url.indexOf('/_history/')
  const end = url.lastIndexOf('/', (history < 0 ? url.length : history) - 1)
  return end > 0 ? url.slice(url.lastIndexOf('/', end - 1) + 1, end) : undefined
}
