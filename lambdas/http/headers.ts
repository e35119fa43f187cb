/**
 * Finds headers that a request must not repeat. It needs the raw names, because steps see repeated headers joined.
 * https://www.rfc-editor.org/rfc/rfc9110#section-5.2
 */
import { invalidTokenError } from '../access/verification/token-errors.ts'
import { type FhirError, fhirError } from '../fhir/outcome.ts'

/** Headers that must not repeat: a proxy could use one of the values, and this server another. */
const SINGLE = new Set([
  'host',
  'origin',
  'authorization',
  'content-type',
  'content-length',
  'if-modified-since',
  'if-none-exist',
  'x-security-context',
  'x-tenant-id',
])

/**
 * Returns an error if a header of SINGLE repeats: FhirError 401 for Authorization, 400 for others. `names`: name of each header, with
 * repetitions, in any case.
 */
export function repeatedHeaderError(names: Iterable<string>): FhirError | undefined {
  const seen = new Set<string>()
  for (const name of names) {
    const lower = name.toLowerCase()
    // guard: single-header-is-not-repeated
    if (SINGLE.has(lower) && seen.has(lower)) {
      const why = `The header ${lower} stands twice`
      return lower === 'authorization' ? invalidTokenError(why) : fhirError(400, 'structure', why)
    }
    seen.add(lower)
  }
  return undefined
}
