/** Reads stored Groups of partners. A match of many members contains megabytes of persons that the partner sent. */
import { sliceArray } from '../../fhir/json-slices.ts'
import type { Resource } from '../../fhir/resource.ts'

/**
 * Returns the Group without its contained resources, because parsing them would delay other requests. `pause`: called between parts, so
 * that these can run.
 */
export async function storedGroupOf(body: Uint8Array, pause?: () => Promise<void> | undefined): Promise<Resource> {
  const { rest } = await sliceArray(body, 'contained', pause)
  return JSON.parse(Buffer.concat(rest).toString()) as Resource
}
