/** Sizes of a page, for searches and histories alike. */
import { fhirError } from '../fhir/outcome.ts'

const DEFAULT = 20
const LARGEST = 1_000

/** A page ends early when its resources weigh more than this many bytes. */
export const HEAVIEST_PAGE = 4_500_000

/** The value of `_count`: more than 1,000 is lowered. https://hl7.org/fhir/R4/search.html#count */
export function pageSize(count: string | undefined): number {
  if (count === undefined) return DEFAULT
  if (!/^\d{1,15}$/.test(count)) throw fhirError(400, 'value', 'The value of _count is not a number of resources')
  return Math.min(Number(count), LARGEST)
}

/** Parameters as the query of a link. */
export const queryText = (pairs: readonly (readonly [string, string])[]): string =>
  new URLSearchParams(pairs.map(([name, value]): [string, string] => [name, value])).toString()
