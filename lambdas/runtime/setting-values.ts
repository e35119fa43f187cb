/** Parsers of setting values that are lists, names or URLs. */
import { RESERVED_CLAIMS } from '../access/claims.ts'
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
