/** Which part of each resource an answer shows. https://hl7.org/fhir/R4/search.html#summary, https://hl7.org/fhir/R4/search.html#elements */
import { fhirError } from '../../fhir/outcome.ts'
import { isRootElement } from '../../fhir/summary.ts'
import { checkSingleValued, type ParameterPairs } from './parameter-pairs.ts'

/** Absent: all of it. */
export type ResponsePart = { readonly summary?: string; readonly elements?: readonly string[] }

export type ResponsePartOptions = {
  /** Of all the resources that are shown. Absent: they may be of any. */
  readonly type?: string | undefined
  readonly handling?: 'strict' | 'lenient' | undefined
}

const GIVEN_ONCE: ReadonlySet<string> = new Set(['_summary', '_elements'])
const WHOLE: ResponsePart = {}
const SUMMARIES: ReadonlySet<string> = new Set(['true', 'false', 'text', 'data', 'count'])
/** More than any type has. */
const MOST_ELEMENTS = 200

/** FhirError 400: one that is given several values, a summary there is none of, too many elements, and, strictly handled, one that no resource may have. */
export function parseResponsePart(pairs: ParameterPairs, options: ResponsePartOptions): ResponsePart {
  checkSingleValued(pairs, GIVEN_ONCE)
  const [, summary] = pairs.find(([name]) => name === '_summary') ?? []
  const [, text] = pairs.find(([name]) => name === '_elements') ?? []
  if (summary === undefined && text === undefined) return WHOLE
  if (summary !== undefined && !SUMMARIES.has(summary))
    throw fhirError(400, 'value', 'The value of _summary is true, false, text, data or count')
  const elements = text === undefined ? [] : parseElements(text, options)
  return {
    ...(summary === undefined || summary === 'false' ? {} : { summary }),
    ...(elements.length === 0 ? {} : { elements }),
  }
}

/** The names that select something. The others are ignored. FhirError 400 as above. */
export function parseElements(text: string, { type, handling }: ResponsePartOptions): readonly string[] {
  // One more than are allowed is enough to know.
  const named = text.split(',', MOST_ELEMENTS + 1).map((name) => name.trim())
  if (named.length > MOST_ELEMENTS) throw fhirError(400, 'too-costly', `_elements takes at most ${MOST_ELEMENTS} names`)
  const asked = named.filter((name) => name !== '')
  const found = asked.filter((name) => isRootElement(name, type))
  const lost = handling === 'strict' ? asked.find((name) => !found.includes(name)) : undefined
  if (lost === undefined) return found
  const whose = type === undefined ? 'any resource' : type
  throw fhirError(400, 'not-found', `_elements names ${JSON.stringify(lost.slice(0, 64))}, which is no element at the root of ${whose}`)
}
