/** _summary and _elements: only the part of the answer the client asked for. https://hl7.org/fhir/R4/search.html#summary */
import { type BundleEntry, isBundlePage } from '../../fhir/bundle.ts'
import { parseJsonBytes } from '../../fhir/json.ts'
import type { Resource } from '../../fhir/resource.ts'
import { elementsOnly, summaryOnly } from '../../fhir/summary.ts'
import type { FhirResponse } from '../../interactions/interaction.ts'
import type { Shape, Step } from '../exchange.ts'

export const shapeBody: Step = {
  after(request) {
    const { shape } = request.event
    const response = request.response as FhirResponse
    if (
      (shape.summary === undefined && shape.elements === undefined) ||
      response.body === undefined ||
      response.headers?.['content-type'] !== undefined
    )
      return
    request.response = { ...response, body: shaped(response.body, shape) }
  },
}

function shaped(body: NonNullable<FhirResponse['body']>, shape: Shape): NonNullable<FhirResponse['body']> {
  if (!isBundlePage(body)) return shapedResource(body, shape)
  return {
    ...body,
    entries: body.entries.map(
      (entry): BundleEntry => (entry.resource === undefined ? entry : { ...entry, resource: shapedResource(entry.resource, shape) }),
    ),
  }
}

function shapedResource(body: Uint8Array | Resource, { summary, elements }: Shape): Uint8Array | Resource {
  const resource = body instanceof Uint8Array ? (parseJsonBytes(body) as Resource) : body
  if (resource.resourceType === 'OperationOutcome') return resource
  if (elements !== undefined) return elementsOnly(resource, elements)
  return summary === 'true' || summary === 'text' || summary === 'data' ? summaryOnly(resource, summary) : resource
}
