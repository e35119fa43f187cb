/** Runs the entries of a Bundle through the steps that order.ts marks for entries, and their interactions. */
import type { InteractionCode, PipelineCode } from '../catalogue/catalogue.ts'
import { parseJsonBytes } from '../fhir/json.ts'
import { fhirError } from '../fhir/outcome.ts'
import { type EntryRequest, type EntryRunner, type EntryStartHandler, isSearchByPost } from '../interactions/bundle/entry.ts'
import type { Caller, FhirRequest, Interaction } from '../interactions/interaction.ts'
import type { Exchange } from './exchange.ts'
import { entryPipeline, type Steps } from './pipeline.ts'
import { requestNamesOf } from './query-recorder.ts'
import { matchEntry } from './route-table.ts'
import { exchangeOf } from './server.ts'
import { type ReportError, toFhirError } from './steps/describe-errors.ts'

/** Runs `work`. Throws if too little time is left to begin it, or if it takes too long. */
export type TimeLimiter = <T>(work: () => Promise<T>) => Promise<T>

/** Limiter of deployments in which requests have no time limit. */
export const NO_TIME_LIMIT: TimeLimiter = (work) => work()

/** Creates the runner of Bundle entries. `report`: receives faults of entries. `inTime`: limits the time of each entry. */
export function entryRunner(
  interactions: Readonly<Partial<Record<InteractionCode, Interaction>>>,
  steps: Steps,
  report: ReportError,
  inTime: TimeLimiter,
): EntryRunner {
  const running = new Map<InteractionCode, ReturnType<typeof entryPipeline<Awaited<ReturnType<Interaction>>>>>()
  const preparing = new Map<InteractionCode, ReturnType<typeof entryPipeline<FhirRequest>>>()
  for (const [code, interaction] of Object.entries(interactions) as [InteractionCode, Interaction][]) {
    running.set(code, entryPipeline(code, steps, interaction))
    preparing.set(
      code,
      entryPipeline(code, steps, (request) => Promise.resolve(request)),
    )
  }
  // Convert a fault in one entry to a FhirError. It must not fail other entries of a batch, which may be done already.
  const through = async <T>(
    chains: ReadonlyMap<PipelineCode, (exchange: Exchange) => Promise<T>>,
    entry: EntryRequest,
    outer: FhirRequest,
    begins: EntryStartHandler,
  ): Promise<T> => {
    try {
      const { interaction, exchange } = exchangeOfEntry(entry, outer)
      const chain = chains.get(interaction)
      if (chain === undefined) throw fhirError(400, 'not-supported', `${entry.method} of this url cannot be an entry of a Bundle`)
      begins(interaction, requestNamesOf(exchange))
      return await inTime(() => chain(exchange))
    } catch (error) {
      throw toFhirError(error, outer.requestId, report)
    }
  }
  return {
    run: (entry, outer, begins) => through(running, entry, outer, begins),
    prepare: (entry, outer, begins) => through(preparing, entry, outer, begins),
  }
}

const NO_BODY = new Uint8Array()

function exchangeOfEntry(entry: EntryRequest, outer: FhirRequest): { readonly interaction: InteractionCode; readonly exchange: Exchange } {
  const { method, url, headers, resource } = entry
  if (isSearchByPost(entry) && resource !== undefined)
    throw fhirError(400, 'not-supported', 'A search in a Bundle takes its parameters in request.url: it has no resource')
  const { interaction, named, path, query } = matchEntry({ method, url }, outer.reading)
  const sent = resource === undefined ? {} : interaction === 'patch' ? { patch: patchOf(resource) } : { resource }
  const known = { ...named, ...sent, preferences: outer.preferences }
  const { baseUrl, sharedTenant, reading, requestId } = outer
  const site = { baseUrl, sharedTenant, reading: () => reading }
  const exchange = exchangeOf({ method, path, query, headers, body: NO_BODY }, requestId, interaction, site, known)
  return { interaction, exchange: { ...exchange, caller: callerIn(outer) } }
}

/**
 * Returns the caller of the Bundle, who is also the caller of each entry. If a field of Caller is missing here, the code does not compile.
 * Requests without a token cannot send a Bundle.
 */
const callerIn = ({
  tenant,
  client,
  user,
  access,
  clientAuth,
  shared,
}: FhirRequest): { readonly [Field in keyof Required<Omit<Caller, 'isPublic'>>]: Caller[Field] } => ({
  tenant,
  client,
  access,
  clientAuth,
  user,
  shared,
})

/**
 * Returns the patch document of an entry. In a Bundle a JSON Patch is the content of a Binary, and a FHIRPath Patch is a Parameters
 * resource. https://hl7.org/fhir/R4/http.html#jsonpatch-transaction
 */
function patchOf(resource: { readonly resourceType: string; readonly data?: unknown }): unknown {
  if (resource.resourceType !== 'Binary') return resource
  if (typeof resource.data !== 'string') throw fhirError(400, 'required', 'The Binary of a patch has data', 'Binary.data')
  return parseJsonBytes(Buffer.from(resource.data, 'base64'))
}
