/** Headers as steps read them: names in lower case, repeated ones joined. https://www.rfc-editor.org/rfc/rfc9110#section-5.2 */
import { invalidTokenError } from '../access/verification/token-errors.ts'
import { type FhirError, fhirError } from '../fhir/outcome.ts'

/** What somebody else on the way may read otherwise, were it given twice. */
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

/** FhirError 400, of tokens 401, where a name stands twice that must not. `names`: of each header there is, repeated ones too. */
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
