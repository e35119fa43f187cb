/** Negotiates the format of the response: Accept, _format, _pretty. https://hl7.org/fhir/R4/http.html#general */
import { type MediaRange, qualityOf } from '../../fhir/media-range.ts'
import { fhirError } from '../../fhir/outcome.ts'
import type { Exchange, Step } from '../exchange.ts'
import { acceptsJson, isJsonType, isSupportedFhirVersion, mediaRangesOf, mediaTypeOf } from '../media-types.ts'

export const negotiateFormat: Step = {
  before({ event: exchange }) {
    if (exchange.interaction === 'export') return checkKickOff(exchange.http.headers.accept)
    const asked = exchange.fhir.parameters.length === 0 ? NOTHING_ASKED : lastOf(exchange.fhir.parameters)
    exchange.pretty = asked.get('_pretty') === 'true'
    const format = asked.get('_format')
    if (format !== undefined && format !== '') return checkFormat(format)
    const { accept } = exchange.http.headers
    if (accept === undefined || accept === '' || accept === 'application/fhir+json') return
    const ranges = mediaRangesOf(accept)
    if (wantsRaw(exchange, ranges)) exchange.fhir = { ...exchange.fhir, rawAccept: ranges }
    else if (!acceptsJson(ranges)) throw fhirError(406, 'not-supported', 'The server answers in JSON of FHIR 4.0: application/fhir+json')
  },
}

/**
 * Requires an Accept header that allows FHIR JSON, as specification 4.5 does; wildcards are allowed. Ignores parameters such as
 * `_elements`, which concern the export files.
 */
function checkKickOff(accept = ''): void {
  if (qualityOf(mediaRangesOf(accept), 'application/fhir+json') === 0)
    throw fhirError(406, 'not-supported', 'An export is asked for with Accept: application/fhir+json')
}

const NOTHING_ASKED: ReadonlyMap<string, string> = new Map()
const lastOf = (pairs: readonly (readonly [string, string])[]): ReadonlyMap<string, string> => new Map(pairs)

function checkFormat(format: string): void {
  // A plus sign that was not percent-encoded arrives as a space.
  const asked = mediaTypeOf(format.replace(/^(application\/\w+) (?=\w)/, '$1+'))
  const isTaken = asked.type === 'json' || (isJsonType(asked.type) && isSupportedFhirVersion(asked))
  if (!isTaken) throw fhirError(406, 'not-supported', 'The server answers in JSON of FHIR 4.0: _format=json')
}

/**
 * Whether to send the raw content of a Binary: Accept names no JSON type, and a media type other than the wildcards for all and for
 * application types. https://hl7.org/fhir/R4/binary.html#rest
 */
function wantsRaw({ fhir, interaction }: Exchange, ranges: readonly MediaRange[]): boolean {
  if (fhir.type !== 'Binary' || (interaction !== 'read' && interaction !== 'vread')) return false
  const taken = ranges.filter(({ quality }) => quality > 0).map(({ type }) => type)
  return !taken.some(isJsonType) && taken.some((type) => type !== '*/*' && type !== 'application/*')
}
