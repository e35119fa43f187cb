/** References by canonical url, which name a resource wherever it is. https://hl7.org/fhir/R4/references.html#canonical */
import type { Element } from '../fhir/resource.ts'
import { namesOf } from './fields.ts'
import { findSearchParameter, type SearchParameter } from './parameters.ts'

/** The field of what a resource may be called by: its url alone, and with its version. */
export const CANONICAL_FIELD = namesOf('url').canonical

/** Resources of the type have a url and a version. */
export const hasCanonical = (type: string): boolean =>
  findSearchParameter(type, 'url')?.type === 'uri' && findSearchParameter(type, 'version')?.type === 'token'

/** Values of the parameter may be canonicals: of one that is only known when it is evaluated, too. */
export const mayBeCanonical = ({ valueTypes }: SearchParameter): boolean =>
  valueTypes.length === 0 || valueTypes.some((type) => type === 'canonical' || type === 'uri')

/** Without its fragment, which names a part of the resource. */
export const withoutFragment = (canonical: string): string => canonical.replace(/#[^|]*$/, '')

/** What the resource may be called by. */
export function canonicalKeysOf({ url, version }: Element): readonly string[] {
  if (typeof url !== 'string') return []
  return typeof version === 'string' ? [url, `${url}|${version}`] : [url]
}

/** Characters of a sort key, and of a version in it. */
const LONGEST_KEY = 1_000
const LONGEST_VERSION = 200
/** No real version has a longer number. */
const LONGEST_NUMBER = 20

/**
 * Returns the sort key of a canonical: its url, then its version. Numbers are padded, and what comes before a release ends lower than the
 * release. So code point order is the order of versions: 1.9, 1.10-beta, 1.10. https://semver.org/#spec-item-11
 */
export const canonicalSortKeyOf = (url: string, version: string | undefined): string =>
  `${url}\u0000${version === undefined ? '' : versionKey(version.slice(0, LONGEST_VERSION))}`.slice(0, LONGEST_KEY)

function versionKey(version: string): string {
  const padded = version.replace(/\d+/g, (digits) => digits.padStart(LONGEST_NUMBER, '0'))
  const at = padded.indexOf('-')
  return at === -1 ? `${padded}\u0002` : `${padded.slice(0, at)}\u0001${padded.slice(at + 1)}`
}
