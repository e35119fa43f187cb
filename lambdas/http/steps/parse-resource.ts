/** Parses the body as a resource: JSON or, for a Binary, any type of content. https://hl7.org/fhir/R4/http.html#mime-type */
import { parseJsonBytes } from '../../fhir/json.ts'
import { fhirError } from '../../fhir/outcome.ts'
import { isResource, type Resource } from '../../fhir/resource.ts'
import type { Exchange, Step } from '../exchange.ts'
import { isJsonType, isSupportedFhirVersion, isUtf8Type, mediaTypeOf } from '../media-types.ts'

/** `newId`: creates the id of a Binary that is POSTed as raw content, which cannot carry an id. */
export const parseResource = (newId: () => string): Step => ({
  before({ event: exchange }) {
    exchange.fhir = { ...exchange.fhir, resource: isRawBinary(exchange) ? binaryOf(exchange, newId) : resourceOf(exchange) }
  },
})

const isRawBinary = ({ fhir: { type }, http: { headers } }: Exchange): boolean =>
  type === 'Binary' && !isJsonType(mediaTypeOf(headers['content-type'] ?? 'application/octet-stream').type)

/**
 * Returns a Binary with the raw body. Throws FhirError 415 if the gateway may have changed the body.
 * https://hl7.org/fhir/R4/binary.html#rest
 */
function binaryOf({ fhir, http: { body, headers, cameAsText } }: Exchange, newId: () => string): Resource {
  const securityContext = headers['x-security-context']
  const contentType = headers['content-type'] ?? 'application/octet-stream'
  // guard: binary-type-is-passed-unchanged
  if (cameAsText && body.length > 0 && !isUtf8Type(mediaTypeOf(contentType)))
    throw fhirError(
      415,
      'not-supported',
      'API Gateway does not pass content of this media type unchanged. Nothing was stored. Send the Binary as JSON: application/fhir+json, with the content in base64 as data',
    )
  return {
    resourceType: 'Binary',
    id: fhir.id ?? newId(),
    contentType,
    ...(securityContext === undefined ? {} : { securityContext: { reference: securityContext } }),
    ...(body.length === 0 ? {} : { data: Buffer.from(body.buffer, body.byteOffset, body.length).toString('base64') }),
  }
}

/**
 * Returns the body as a resource. `complete`: adds missing properties to the parsed JSON before it is checked. Throws FhirError 400 if the
 * body is not a resource, and 415 if it is not JSON.
 */
export function resourceOf({ http: { body, headers } }: Exchange, complete = (tree: unknown): unknown => tree): Resource {
  checkJson(headers['content-type'])
  if (body.length === 0) throw fhirError(400, 'required', 'The request needs a resource as its body')
  const tree = complete(parseJsonBytes(body))
  if (!isResource(tree)) throw fhirError(400, 'structure', 'The body is not a resource: a JSON object with a resourceType', 'resourceType')
  return tree
}

/**
 * Throws FhirError 415 for a media type that is not JSON, of another FHIR version, or not in UTF-8. `more`: media types accepted in
 * addition to JSON.
 */
export function checkJson(contentType: string | undefined, more: readonly string[] = []): void {
  if (contentType === undefined || contentType === 'application/fhir+json') return
  const mediaType = mediaTypeOf(contentType)
  const { type, parameters } = mediaType
  if (!isJsonType(type) && !more.includes(type))
    throw fhirError(415, 'not-supported', `Send the body as ${more[0] ?? 'application/fhir+json'}`)
  if (!isSupportedFhirVersion(mediaType))
    throw fhirError(415, 'not-supported', 'Bodies are of FHIR 4.0: application/fhir+json; fhirVersion=4.0')
  const charset = parameters.get('charset') ?? 'utf-8'
  if (charset !== 'utf-8' && charset !== 'utf8') throw fhirError(415, 'not-supported', 'Bodies are read in UTF-8 only')
}
