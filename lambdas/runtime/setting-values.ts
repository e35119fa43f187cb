/** Parsers of setting values that are lists, names or URLs. */

import { RESERVED_CLAIMS } from '../access/claims.ts'
import { identifierTextOf, parseIdentifierList } from '../fhir/identifier-text.ts'
import { isResourceType } from '../fhir/resource-types.ts'

/**
 * Parses the setting of origins. Returns an empty list for an empty text, and undefined if an origin is invalid. Any scheme is valid,
 * because mobile apps have their own. https://www.rfc-editor.org/rfc/rfc6454#section-7
 */
export function originsOf(text: string): readonly string[] | undefined {
  if (text === '') return []
  const origins = text.split(',').map((item) => item.trim())
  return origins.every((origin) => /^(?:\*|[a-z][a-z0-9+.-]*:\/\/[^/?#\sA-Z]+)$/.test(origin)) ? origins : undefined
}

/** Returns the types of a list separated by commas, or undefined if one is no resource type. `all` stands for itself. */
export function typesOf(text: string): readonly string[] | undefined {
  const types = text.split(',').map((type) => type.trim())
  return text === 'all' || types.every(isResourceType) ? types : undefined
}

/** Whether the text is a URL of a package registry. */
export function isRegistry(text: string): boolean {
  const { protocol, hostname, username, password, search, hash } = URL.parse(text) ?? { protocol: '' }
  if (protocol !== 'https:' && !(protocol === 'http:' && /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/.test(hostname ?? ''))) return false
  return `${username}${password}${search}${hash}` === ''
}

/** Whether the text may be the name of a claim that has no other meaning. */
export const isFreeClaim = (text: string): boolean => /^[\w:./-]{1,100}$/.test(text) && !RESERVED_CLAIMS.includes(text)

/** Returns `unknown`, `none` or the labels, as `system|code`. Returns undefined if one is malformed, or there is none. */
export function labelsOf(text: string): 'unknown' | 'none' | readonly string[] | undefined {
  if (text === 'unknown' || text === 'none') return text
  const labels = parseIdentifierList(text)
  return labels === undefined || labels.length === 0 ? undefined : labels.map(identifierTextOf)
}

/** Whether the text is a day of the calendar, such as 2016-02-29. */
export function isDay(text: string): boolean {
  const instant = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(text) : Number.NaN
  return !Number.isNaN(instant) && new Date(instant).toISOString().startsWith(text)
}

/** Returns the number, or undefined if the text is not a whole number from 1 to `most`. */
export function upTo(most: number, text: string): number | undefined {
  const number = wholeNumber(text)
  return number !== undefined && number >= 1 && number <= most ? number : undefined
}

export const wholeNumber = (text: string): number | undefined => (/^\d{1,15}$/.test(text) ? Number(text) : undefined)
