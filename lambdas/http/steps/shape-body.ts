/** Applies _summary and _elements: shows only the requested part of each resource. https://hl7.org/fhir/R4/search.html#summary */
import type { PipelineCode } from '../../catalogue/catalogue.ts'
import type { FhirResponse } from '../../interactions/interaction.ts'
import { isInclude } from '../../search/query/include.ts'
import type { Exchange, Step } from '../exchange.ts'

const loadParts = () => import('../../interactions/shaped-body.ts')

const PART_PARAMETERS: ReadonlySet<string> = new Set(['_summary', '_elements'])

export const shapeBody: Step = {
  /** Rejects invalid values of _summary and _elements before the interaction runs. */
  before({ event: exchange }) {
    // Skip exports: their parameters concern the export files.
    if (exchange.interaction === 'export' || !exchange.fhir.parameters.some(([name]) => PART_PARAMETERS.has(name))) return
    return choosePart(exchange)
  },
  async after(request) {
    const response = request.response as FhirResponse
    const part = response.part ?? request.event.part
    const isWhole = part.summary === undefined && part.elements === undefined
    if (isWhole || response.body === undefined || response.headers?.['content-type'] !== undefined) return
    const { shapedBodyOf } = await loadParts()
    request.response = { ...response, body: await shapedBodyOf(response.body, part) }
  },
}

async function choosePart(exchange: Exchange): Promise<void> {
  const { parameters, preferences } = exchange.fhir
  const { parseResponsePart } = await loadParts()
  exchange.part = parseResponsePart(parameters, { type: typeShown(exchange), handling: preferences.handling })
}

const OF_THEIR_TYPE: ReadonlySet<PipelineCode> = new Set(['read', 'vread', 'create', 'update', 'patch', 'history-instance', 'history-type'])

/** Returns the type of all resources in the response, or undefined if they may differ. */
function typeShown({ interaction, fhir: { type, parameters } }: Exchange): string | undefined {
  if (interaction === 'capabilities') return 'CapabilityStatement'
  const isAlone = interaction === 'search-type' && !parameters.some(([name]) => isInclude(name))
  return isAlone || OF_THEIR_TYPE.has(interaction) ? type : undefined
}
