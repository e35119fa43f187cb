/** References by canonical URL, which identify a resource regardless of its location. https://hl7.org/fhir/R4/references.html#canonical */
import type { Element } from '../fhir/resource.ts'
import { namesOf } from './fields.ts'
import { findSearchParameter, type SearchParameter } from './parameters.ts'

/** Field of the canonical URLs of a resource: its `url` alone, and with its version. */
export const CANONICAL_FIELD = namesOf('url').canonical

/** Whether resources of the type have a `url` and a `version`. */
export const hasCanonical = (type: string): boolean =>
  findSearchParameter(type, 'url')?.type === 'uri' && findSearchParameter(type, 'version')?.type === 'token'

/** Whether values of the parameter may be canonical URLs. True if its types are unknown until it is evaluated. */
export const mayBeCanonical = ({ valueTypes }: SearchParameter): boolean =>
  valueTypes.length === 0 || valueTypes.some((type) => type === 'canonical' || type === 'uri')

/** Removes the fragment, which names a part of the resource. */
export const withoutFragment = (canonical: string): string => canonical.replace(/#[^|]*$/, '')

/** Returns the keys that canonical references to the resource may use. */
export function canonicalKeysOf({ url, version }: Element): readonly string[] {
  if (typeof url !== 'string') return []
  return typeof version === 'string' ? [url, `${url}|${version}`] : [url]
}

/** Maximum characters of a sort key, and of a version in it. Longer ones are cut. */
const LONGEST_KEY = 1_000
const LONGEST_VERSION = 200
/** Digits to which each number of a version is padded. No real version has a longer number. */
const LONGEST_NUMBER = 20

/**
 * Returns the sort key of a canonical URL: the URL, then the version. Numbers are padded, and pre-releases sort before their release. So
 * code point order is the order of versions: 1.9, 1.10-beta, 1.10. https://semver.org/#spec-item-11
 */
export const canonicalSortKeyOf = (url: string, version: string | undefined): string =>
  `${url}\u0000${version === undefined ? '' : versionKey(version.slice(0, LONGEST_VERSION))}`.slice(0, LONGEST_KEY)

function versionKey(version: string): string {
  const padded = version.replace(/\d+/g, (digits) => digits.padStart(LONGEST_NUMBER, '0'))
  const at = padded.indexOf('-')
  return at === -1 ? `${padded}\u0002` : `${padded.slice(0, at)}\u0001${padded.slice(at + 1)}`
}
