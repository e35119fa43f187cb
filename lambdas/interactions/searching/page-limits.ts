/** Pages and their links, for searches, histories and `$everything` alike. */
import { type DateRange, parseDateRange } from '../../fhir/date-range.ts'
import { fhirError } from '../../fhir/outcome.ts'
import type { ResourceVersion } from '../../ports/store/resource-store.ts'
import type { ParameterPairs } from '../../search/query/parameter-pairs.ts'
import { parseElements } from '../../search/query/response-part.ts'
import type { SearchContext } from '../../search/search-context.ts'

/** A page ends early when its resources weigh more than this many bytes. */
export const MAX_PAGE_BYTES = 4_500_000

/** As many of the versions as a page may weigh, at least one. */
export const takeFittingPage = (versions: readonly ResourceVersion[]): readonly ResourceVersion[] =>
  versions.slice(0, countFittingPage(versions.map(({ body }) => body.length)))

/** How many of these weights, in bytes, a page may have: at least one. */
export function countFittingPage(weights: readonly number[]): number {
  let sum = 0
  const end = weights.findIndex((weight, i) => {
    sum += weight
    return i > 0 && sum > MAX_PAGE_BYTES
  })
  return end === -1 ? weights.length : end
}

export const GENERAL_PARAMETERS: ReadonlySet<string> = new Set(['_format', '_pretty', '_summary', '_elements'])

/** Of a parameter that is one, perhaps with a space where a URL has a bare +. FhirError 400. */
export function parseDateParameter(name: string, value: string, { timeZone }: SearchContext): DateRange {
  const range = parseDateRange(value.replace(' ', '+'), timeZone)
  if (range === undefined) throw fhirError(400, 'value', `The value of ${name} is not a date or an instant`)
  return range
}

/** Parameters as they were used, for the links of a page of so many. `type`: of all that is shown. */
export const linkParametersOf = (
  pairs: ParameterPairs,
  { count, type }: { readonly count?: number | undefined; readonly type?: string | undefined },
): ParameterPairs =>
  pairs.flatMap(([name, value]): ParameterPairs => {
    if (name === '_count') return [[name, String(count)]]
    if (name !== '_elements') return [[name, value]]
    const elements = parseElements(value, { type })
    return elements.length === 0 ? [] : [[name, elements.join(',')]]
  })

/** Parameters as the query of a link. */
export const toQueryText = (pairs: readonly (readonly [string, string])[]): string =>
  new URLSearchParams(pairs.map(([name, value]): [string, string] => [name, value])).toString()
