/**
 * Canonical URLs, by which references identify a resource regardless of its location: their index keys and sort keys.
 * https://hl7.org/fhir/R4/references.html#canonical
 */
import type { Element } from '../fhir/resource.ts'
import { namesOf } from './fields.ts'
import { findSearchParameter, type SearchParameter } from './parameters.ts'

/** Index field with the canonical URLs of a resource: `url`, and `url|version` if it has a version. */
export const CANONICAL_FIELD = namesOf('url').canonical

/** Whether R4 has the search parameters `url` and `version` for the type, so that canonical references can point to its resources. */
export const hasCanonical = (type: string): boolean =>
  findSearchParameter(type, 'url')?.type === 'uri' && findSearchParameter(type, 'version')?.type === 'token'

/** Whether values of the parameter may be canonical URLs. Also true for an interpreted parameter, whose value types are unknown. */
export const mayBeCanonical = ({ valueTypes }: SearchParameter): boolean =>
  valueTypes.length === 0 || valueTypes.some((type) => type === 'canonical' || type === 'uri')

/** Removes a fragment (`#part`) at the end, because it names only a part of the resource. */
export const withoutFragment = (canonical: string): string => canonical.replace(/#[^|]*$/, '')

/** Returns the forms in which a canonical reference names the resource: `url`, and `url|version`. Returns none without a `url`. */
export function canonicalKeysOf({ url, version }: Element): readonly string[] {
  if (typeof url !== 'string') return []
  return typeof version === 'string' ? [url, `${url}|${version}`] : [url]
}

/** Maximum characters of a sort key. Longer keys are truncated. */
const LONGEST_KEY = 1_000
/** Maximum characters of a version in a sort key, before its numbers are padded. Longer versions are truncated. */
const LONGEST_VERSION = 200
/** Digits to which zeros pad each number of a version, so that text order equals numeric order. */
const LONGEST_NUMBER = 20

/**
 * Returns the sort key of a canonical URL: the URL, then the version. Numbers are padded, and a pre-release sorts before its release. So
 * the code points sort versions correctly: 1.9, 1.10-beta, 1.10. https://semver.org/#spec-item-11
 */
export const canonicalSortKeyOf = (url: string, version: string | undefined): string =>
  `${url}\u0000${version === undefined ? '' : versionKey(version.slice(0, LONGEST_VERSION))}`.slice(0, LONGEST_KEY)

function versionKey(version: string): string {
  const padded = version.replace(/\d+/g, (digits) => digits.padStart(LONGEST_NUMBER, '0'))
  const at = padded.indexOf('-')
  return at === -1 ? `${padded}\u0002` : `${padded.slice(0, at)}\u0001${padded.slice(at + 1)}`
}
