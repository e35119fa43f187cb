/** _summary and _elements: only the part of the answer the client asked for. https://hl7.org/fhir/R4/search.html#summary */
import { type BundleEntry, isBundlePage, sizeOf, treeOf } from '../../fhir/bundle.ts'
import { writeJson } from '../../fhir/json.ts'
import type { Resource } from '../../fhir/resource.ts'
import { elementsOnly, summaryOnly } from '../../fhir/summary.ts'
import type { Awaitable, FhirResponse } from '../../interactions/interaction.ts'
import { inTurn, turn } from '../../interactions/slices.ts'
import type { Shape, Step } from '../exchange.ts'

export const shapeBody: Step = {
  async after(request) {
    const { shape } = request.event
    const response = request.response as FhirResponse
    if (
      (shape.summary === undefined && shape.elements === undefined) ||
      response.body === undefined ||
      response.headers?.['content-type'] !== undefined
    )
      return
    request.response = { ...response, body: await shaped(response.body, shape) }
  },
}

async function shaped(body: NonNullable<FhirResponse['body']>, shape: Shape): Promise<NonNullable<FhirResponse['body']>> {
  if (!isBundlePage(body)) return shapedResource(body, shape)
  // As bytes: trees of all the answers to a batch would be many times as large.
  const shapedEntry = (entry: BundleEntry): Awaitable<BundleEntry> => {
    if (entry.resource === undefined) return entry
    const written = (part: Resource): BundleEntry => ({ ...entry, resource: Buffer.from(writeJson(part)) })
    const part = shapedResource(entry.resource, shape)
    return part instanceof Promise ? part.then(written) : written(part)
  }
  return { ...body, entries: await inTurn(body.entries, shapedEntry) }
}

/** Bytes of a resource that is read, cut and written each in a turn of its own. */
const HEAVY = 1_000_000

function shapedResource(body: NonNullable<BundleEntry['resource']>, shape: Shape): Awaitable<Resource> {
  const resource = treeOf(body)
  return sizeOf(body) > HEAVY ? partInTurns(resource, shape) : partOf(resource, shape)
}

async function partInTurns(resource: Resource, shape: Shape): Promise<Resource> {
  await turn()
  const part = partOf(resource, shape)
  await turn()
  return part
}

function partOf(resource: Resource, { summary, elements }: Shape): Resource {
  if (resource.resourceType === 'OperationOutcome') return resource
  if (elements !== undefined) return elementsOnly(resource, elements)
  return summary === 'true' || summary === 'text' || summary === 'data' ? summaryOnly(resource, summary) : resource
}
