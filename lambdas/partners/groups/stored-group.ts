/** Reads stored Groups of partners. A match of many members contains megabytes of persons that the partner sent. */
import { sliceArray } from '../../fhir/json-slices.ts'
import type { Resource } from '../../fhir/resource.ts'

/**
 * Returns the Group with an empty `contained`, because parsing its contained resources would delay other requests. `body`: its JSON in UTF-8.
 * `pause`: called between parts, so that other requests can run.
 */
export async function storedGroupOf(body: Uint8Array, pause?: () => Promise<void> | undefined): Promise<Resource> {
  const { rest } = await sliceArray(body, 'contained', pause)
  return JSON.parse(Buffer.concat(rest).toString()) as Resource
}
