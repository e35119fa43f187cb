/** A Binary served as what it is. https://hl7.org/fhir/R4/binary.html#rest */
import { parseJsonBytes } from '../../fhir/json.ts'
import { type MediaRange, qualityOf } from '../../fhir/media-range.ts'
import { fhirError } from '../../fhir/outcome.ts'
import type { ResourceVersion } from '../../ports/store/resource-store.ts'
import type { FhirResponse } from '../interaction.ts'

/** FhirError 406 where the client takes none of its type. */
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
/** Characters of a type in a header: one that is longer, or no ASCII, is for nobody to read. */
const LONGEST = 1_000

/** A browser shows it, but runs nothing of it. */
const INERT = { 'x-content-type-options': 'nosniff', 'content-security-policy': "default-src 'none'; sandbox" }
