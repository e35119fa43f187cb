/** Pages and their links, for searches, histories and `$everything` alike. */
import { type DateRange, dateRange } from '../../fhir/date-range.ts'
import { fhirError } from '../../fhir/outcome.ts'
import type { ResourceVersion } from '../../ports/store/resource-store.ts'
import type { Pairs } from '../../search/query/parameter-pairs.ts'
import { elementsAsked } from '../../search/query/response-part.ts'
import type { Reading } from '../../search/search-context.ts'

/** A page ends early when its resources weigh more than this many bytes. */
export const HEAVIEST_PAGE = 4_500_000

/** As many of the versions as a page may weigh, at least one. */
export const lightEnough = (versions: readonly ResourceVersion[]): readonly ResourceVersion[] =>
  versions.slice(0, lightCount(versions.map(({ body }) => body.length)))

/** How many of these weights, in bytes, a page may have: at least one. */
export function lightCount(weights: readonly number[]): number {
  let sum = 0
  const end = weights.findIndex((weight, i) => {
    sum += weight
    return i > 0 && sum > HEAVIEST_PAGE
  })
  return end === -1 ? weights.length : end
}

export const READ_BY_EVERY_INTERACTION: ReadonlySet<string> = new Set(['_format', '_pretty', '_summary', '_elements'])

/** Of a parameter that is one, perhaps with a space where a URL has a bare +. FhirError 400. */
export function dateAsked(name: string, value: string, { timeZone }: Reading): DateRange {
  const range = dateRange(value.replace(' ', '+'), timeZone)
  if (range === undefined) throw fhirError(400, 'value', `The value of ${name} is not a date or an instant`)
  return range
}

/** Parameters as they were used, for the links of a page of so many. `type`: of all that is shown. */
export const usedPairs = (
  pairs: Pairs,
  { count, type }: { readonly count?: number | undefined; readonly type?: string | undefined },
): Pairs =>
  pairs.flatMap(([name, value]): Pairs => {
    if (name === '_count') return [[name, String(count)]]
    if (name !== '_elements') return [[name, value]]
    const elements = elementsAsked(value, { type })
    return elements.length === 0 ? [] : [[name, elements.join(',')]]
  })

/** Parameters as the query of a link. */
export const queryText = (pairs: readonly (readonly [string, string])[]): string =>
  new URLSearchParams(pairs.map(([name, value]): [string, string] => [name, value])).toString()
