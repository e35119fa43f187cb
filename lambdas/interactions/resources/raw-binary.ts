/** Raw content of a Binary, in its own media type. https://hl7.org/fhir/R4/binary.html#rest */
import { parseJsonBytes } from '../../fhir/json.ts'
import { type MediaRange, qualityOf } from '../../fhir/media-range.ts'
import { fhirError } from '../../fhir/outcome.ts'
import type { ResourceVersion } from '../../ports/store/resource-store.ts'
import type { FhirResponse } from '../interaction.ts'

/** Returns the decoded content of the Binary. Throws FhirError 406 if the Accept header excludes its media type. */
export function rawBinary(
  version: ResourceVersion,
  headers: Readonly<Record<string, string>>,
  accepted: readonly MediaRange[],
): FhirResponse {
  const { contentType = OPAQUE, data = '' } = parseJsonBytes(version.body) as { contentType?: string; data?: string }
  const type = contentType.split(';')[0]!.trim().toLowerCase()
  if (qualityOf(accepted, type) === 0) throw fhirError(406, 'not-supported', `The Binary is ${type}`)
  const told = contentType.length <= LONGEST && /^[\x20-\x7e]+$/.test(contentType) ? contentType : OPAQUE
  return { status: 200, headers: { ...headers, ...INERT, 'content-type': told }, body: Buffer.from(data, 'base64') }
}

const OPAQUE = 'application/octet-stream'
/** Maximum characters of a media type in a header. Content with a longer or non-ASCII type is sent as application/octet-stream. */
const LONGEST = 1_000

/** Headers that let a browser show the content but not execute scripts in it. */
const INERT = { 'x-content-type-options': 'nosniff', 'content-security-policy': "default-src 'none'; sandbox" }
