/** Applies _summary and _elements: shows only the requested part of each resource. https://hl7.org/fhir/R4/search.html#summary */
import type { PipelineCode } from '../../catalogue/catalogue.ts'
import { type BundleEntry, byteSizeOf, entryResourceOf, isBundlePage } from '../../fhir/bundle.ts'
import { writeJson } from '../../fhir/json.ts'
import type { Resource } from '../../fhir/resource.ts'
import { selectElements, selectSummary } from '../../fhir/summary.ts'
import type { Awaitable, FhirResponse } from '../../interactions/interaction.ts'
import { mapInOrder, yieldNow } from '../../interactions/time-slices.ts'
import { isInclude } from '../../search/query/include.ts'
import { parseResponsePart, type ResponsePart } from '../../search/query/response-part.ts'
import type { Exchange, Step } from '../exchange.ts'

export const shapeBody: Step = {
  /** Rejects invalid values of _summary and _elements before the interaction runs. */
  before({ event: exchange }) {
    const { parameters, preferences } = exchange.fhir
    // Skip exports: their parameters concern the export files.
    if (parameters.length === 0 || exchange.interaction === 'export') return
    exchange.part = parseResponsePart(parameters, { type: typeShown(exchange), handling: preferences.handling })
  },
  async after(request) {
    const response = request.response as FhirResponse
    const part = response.part ?? request.event.part
    const isWhole = part.summary === undefined && part.elements === undefined
    if (isWhole || response.body === undefined || response.headers?.['content-type'] !== undefined) return
    request.response = { ...response, body: await shaped(response.body, part) }
  },
}

const OF_THEIR_TYPE: ReadonlySet<PipelineCode> = new Set(['read', 'vread', 'create', 'update', 'patch', 'history-instance', 'history-type'])

/** Returns the type of all resources in the response, or undefined if they may differ. */
function typeShown({ interaction, fhir: { type, parameters } }: Exchange): string | undefined {
  if (interaction === 'capabilities') return 'CapabilityStatement'
  const isAlone = interaction === 'search-type' && !parameters.some(([name]) => isInclude(name))
  return isAlone || OF_THEIR_TYPE.has(interaction) ? type : undefined
}

async function shaped(body: NonNullable<FhirResponse['body']>, part: ResponsePart): Promise<NonNullable<FhirResponse['body']>> {
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
