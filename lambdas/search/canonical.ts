/** References by canonical url, which name a resource wherever it is. https://hl7.org/fhir/R4/references.html#canonical */
import type { Element } from '../fhir/resource.ts'
import { namesOf } from './fields.ts'
import { type SearchParameter, searchParameter } from './parameters.ts'

/** The field of what a resource may be called by: its url alone, and with its version. */
export const CALLED = namesOf('url').canonical

/** Resources of the type have a url and a version. */
export const hasCanonical = (type: string): boolean =>
  searchParameter(type, 'url')?.type === 'uri' && searchParameter(type, 'version')?.type === 'token'

/** Values of the parameter may be canonicals: of one that is only known when it is evaluated, too. */
export const mayBeCanonical = ({ valueTypes }: SearchParameter): boolean =>
  valueTypes.length === 0 || valueTypes.some((type) => type === 'canonical' || type === 'uri')

/** Without its fragment, which names a part of the resource. */
export const withoutFragment = (canonical: string): string => canonical.replace(/#[^|]*$/, '')

/** What the resource may be called by. */
export function calledBy({ url, version }: Element): readonly string[] {
  if (typeof url !== 'string') return []
  return typeof version === 'string' ? [url, `${url}|${version}`] : [url]
}
