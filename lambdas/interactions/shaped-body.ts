/**
 * Shows a part of each resource in a response. Functions load this file with the first request that asks for a part, because the definitions
 * of all elements are large.
 */
import { type BundleEntry, byteSizeOf, entryResourceOf, isBundlePage } from '../fhir/bundle.ts'
import { writeJson } from '../fhir/json.ts'
import type { Resource } from '../fhir/resource.ts'
import { selectElements, selectSummary } from '../fhir/summary.ts'
import type { ResponsePart } from '../search/query/response-part.ts'
import type { Awaitable, FhirResponse } from './interaction.ts'
import { mapInOrder, yieldNow } from './time-slices.ts'

export { parseResponsePart } from '../search/query/response-part.ts'

/** Returns the body with the part of each resource. */
export async function shapedBodyOf(
  body: NonNullable<FhirResponse['body']>,
  part: ResponsePart,
): Promise<NonNullable<FhirResponse['body']>> {
  if (!isBundlePage(body)) return shapedResource(body, part)
  // Serialize each entry, because the trees of all entries would need many times the memory of their bytes.
  const shapedEntry = (entry: BundleEntry): Awaitable<BundleEntry> => {
    if (entry.resource === undefined) return entry
    const written = (shown: Resource): BundleEntry => ({ ...entry, resource: Buffer.from(writeJson(shown)) })
    const shown = shapedResource(entry.resource, part)
    return shown instanceof Promise ? shown.then(written) : written(shown)
  }
  return { ...body, entries: await mapInOrder(body.entries, shapedEntry) }
}

/** Bytes of a resource above which the step yields to other requests before and after it selects the part. */
const HEAVY = 1_000_000

function shapedResource(body: NonNullable<BundleEntry['resource']>, part: ResponsePart): Awaitable<Resource> {
  const resource = entryResourceOf(body)
  return byteSizeOf(body) > HEAVY ? partInTurns(resource, part) : partOf(resource, part)
}

async function partInTurns(resource: Resource, part: ResponsePart): Promise<Resource> {
  await yieldNow()
  const shown = partOf(resource, part)
  await yieldNow()
  return shown
}

function partOf(resource: Resource, { summary, elements }: ResponsePart): Resource {
  if (resource.resourceType === 'OperationOutcome') return resource
  if (elements !== undefined) return selectElements(resource, elements)
  return summary === 'true' || summary === 'text' || summary === 'data' ? selectSummary(resource, summary) : resource
}
