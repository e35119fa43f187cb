/** How many resources a page has, in searches and histories alike. https://hl7.org/fhir/R4/search.html#count */
import { fhirError } from '../../fhir/outcome.ts'

const DEFAULT = 20
const LARGEST = 1_000

/** The value of `_count`: more than 1,000 is lowered. */
export function parsePageSize(count: string | undefined): number {
  if (count === undefined) return DEFAULT
  if (!/^\d{1,15}$/.test(count)) throw fhirError(400, 'value', 'The value of _count is not a number of resources')
  return Math.min(Number(count), LARGEST)
}
