/** Limits and links that pages of searches, histories and `$everything` have in common. */
import { type DateRange, parseDateRange } from '../../fhir/date-range.ts'
import { fhirError } from '../../fhir/outcome.ts'
import type { ResourceVersion } from '../../ports/store/resource-store.ts'
import type { ParameterPairs } from '../../search/query/parameter-pairs.ts'
import { parseElements } from '../../search/query/response-part.ts'
import type { SearchContext } from '../../search/search-context.ts'

/** Maximum bytes of the resources on a page. The page ends before the resource that would exceed it, but shows at least one. */
export const MAX_PAGE_BYTES = 4_500_000

/** Returns the first versions that fit on a page, at least one. */
export const takeFittingPage = (versions: readonly ResourceVersion[]): readonly ResourceVersion[] =>
  versions.slice(0, countFittingPage(versions.map(({ body }) => body.length)))

/** Returns how many of the weights, in bytes, fit on a page: at least one. */
export function countFittingPage(weights: readonly number[]): number {
  let sum = 0
  const end = weights.findIndex((weight, i) => {
    sum += weight
    return i > 0 && sum > MAX_PAGE_BYTES
  })
  return end === -1 ? weights.length : end
}

export const GENERAL_PARAMETERS: ReadonlySet<string> = new Set(['_format', '_pretty', '_summary', '_elements'])

/**
 * Parses a date or instant. Accepts a space for `+`, because an unencoded `+` in a URL arrives as a space. Throws FhirError 400 for
 * anything else.
 */
export function parseDateParameter(name: string, value: string, { timeZone }: SearchContext): DateRange {
  const range = parseDateRange(value.replace(' ', '+'), timeZone)
  if (range === undefined) throw fhirError(400, 'value', `The value of ${name} is not a date or an instant`)
  return range
}

/**
 * Returns the parameters as the server interpreted them, for the links of a page. `count`: page size in effect. `type`: type of all
 * resources shown, to drop `_elements` of other types.
 */
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

/** Returns the parameters as the query of a link. */
export const toQueryText = (pairs: readonly (readonly [string, string])[]): string =>
  new URLSearchParams(pairs.map(([name, value]): [string, string] => [name, value])).toString()
