/** _summary and _elements: only the part of the answer the client asked for. https://hl7.org/fhir/R4/search.html#summary */
import { type BundleEntry, isBundlePage, treeOf } from '../../fhir/bundle.ts'
import { writeJson } from '../../fhir/json.ts'
import type { Resource } from '../../fhir/resource.ts'
import { elementsOnly, summaryOnly } from '../../fhir/summary.ts'
import type { FhirResponse } from '../../interactions/interaction.ts'
import { inTurn } from '../../interactions/slices.ts'
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
  const shapedEntry = (entry: BundleEntry): BundleEntry =>
    entry.resource === undefined ? entry : { ...entry, resource: Buffer.from(writeJson(shapedResource(entry.resource, shape))) }
  return { ...body, entries: await inTurn(body.entries, shapedEntry) }
}

function shapedResource(body: NonNullable<BundleEntry['resource']>, { summary, elements }: Shape): Resource {
  const resource = treeOf(body)
  if (resource.resourceType === 'OperationOutcome') return resource
  if (elements !== undefined) return elementsOnly(resource, elements)
  return summary === 'true' || summary === 'text' || summary === 'data' ? summaryOnly(resource, summary) : resource
}
