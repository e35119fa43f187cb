/** Number of resources on a page, for searches and histories. https://hl7.org/fhir/R4/search.html#count */
import { fhirError } from '../../fhir/outcome.ts'

const DEFAULT = 20
const LARGEST = 1_000

/** Returns the page size for a value of `_count`: 20 if absent, at most 1,000. Throws FhirError 400 if the text is not a number. */
export function parsePageSize(count: string | undefined): number {
  if (count === undefined) return DEFAULT
  if (!/^\d{1,15}$/.test(count)) throw fhirError(400, 'value', 'The value of _count is not a number of resources')
  return Math.min(Number(count), LARGEST)
}
