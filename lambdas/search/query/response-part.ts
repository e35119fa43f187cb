/**
 * Part of each resource that a response shows. https://hl7.org/fhir/R4/search.html#summary, https://hl7.org/fhir/R4/search.html#elements
 */
import { fhirError } from '../../fhir/outcome.ts'
import { isRootElement } from '../../fhir/summary.ts'
import { checkSingleValued, type ParameterPairs } from './parameter-pairs.ts'

/** Part of a resource that the response contains. Without properties: the whole resource. */
export type ResponsePart = { readonly summary?: string; readonly elements?: readonly string[] }

export type ResponsePartOptions = {
  /** Type of all resources in the response. Absent: several types are possible. */
  readonly type?: string | undefined
  readonly handling?: 'strict' | 'lenient' | undefined
}

const SINGLE: ReadonlySet<string> = new Set(['_summary', '_elements'])
const WHOLE: ResponsePart = {}
const SUMMARIES: ReadonlySet<string> = new Set(['true', 'false', 'text', 'data', 'count'])
/** Maximum names in `_elements`, more than any type has elements. More names are answered 400. */
const MAX_ELEMENTS = 200

/**
 * Parses `_summary` and `_elements`. Throws FhirError 400 for different values of one parameter, an unknown summary or too many elements.
 * Strict handling also rejects a name that is no root element.
 */
export function parseResponsePart(pairs: ParameterPairs, options: ResponsePartOptions): ResponsePart {
  checkSingleValued(pairs, SINGLE)
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

/** Returns the names that are root elements of the type, and ignores the others. Throws FhirError 400 as parseResponsePart does. */
export function parseElements(text: string, { type, handling }: ResponsePartOptions): readonly string[] {
  // Split off one name more than allowed: that is enough to detect too many.
  const names = text.split(',', MAX_ELEMENTS + 1).map((name) => name.trim())
  if (names.length > MAX_ELEMENTS) throw fhirError(400, 'too-costly', `_elements takes at most ${MAX_ELEMENTS} names`)
  const requested = names.filter((name) => name !== '')
  const found = requested.filter((name) => isRootElement(name, type))
  const unknown = handling === 'strict' ? requested.find((name) => !found.includes(name)) : undefined
  if (unknown === undefined) return found
  const typeText = type === undefined ? 'any resource' : type
  throw fhirError(
    400,
    'not-found',
    `_elements names ${JSON.stringify(unknown.slice(0, 64))}, which is no element at the root of ${typeText}`,
  )
}
