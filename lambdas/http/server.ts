/** Turns a request into a response, independent of the network. Both deployments use it. */
import type { Endpoint } from '../auth/endpoint.ts'
import type { EndpointCode, InteractionCode, PipelineCode } from '../catalogue/catalogue.ts'
import { fhirError } from '../fhir/outcome.ts'
import type { Interaction, RequestContent } from '../interactions/interaction.ts'
import type { RequestLog } from '../ports/execution/request-log.ts'
import { parseParameterPairs } from '../search/query/parameter-pairs.ts'
import type { Exchange, HttpRequest, HttpResponse, Site } from './exchange.ts'
import { endpointPipeline, fallbackPipeline, pipeline, type Steps } from './pipeline.ts'
import { logRequest } from './pipelines/request-record.ts'
import { allowHeaderOf, matchRoute } from './route-table.ts'
import { preflightHeadersOf } from './steps/allow-origins.ts'

export type Serve = (http: HttpRequest, requestId: string) => Promise<HttpResponse>

export type ServerParts = {
  /** Interactions that this server or function answers. */
  readonly interactions: Readonly<Partial<Record<InteractionCode, Interaction>>>
  /** Endpoints of the authorization server that this server or function answers. Absent: none. */
  readonly endpoints?: Readonly<Partial<Record<EndpointCode, Endpoint>>>
  readonly steps: Steps
  readonly site: Site
  /** Log of all requests. Absent: there is none. */
  readonly requestLog?: RequestLog | undefined
}

export function server({ interactions, endpoints = {}, steps, site, requestLog }: ServerParts): Serve {
  const pipelines = new Map<PipelineCode, (exchange: Exchange) => Promise<HttpResponse>>()
  for (const [code, interaction] of Object.entries(interactions) as [InteractionCode, Interaction][])
    pipelines.set(code, pipeline(code, steps, interaction))
  for (const [code, endpoint] of Object.entries(endpoints) as [EndpointCode, Endpoint][])
    pipelines.set(code, endpointPipeline(code, steps, endpoint))
  const fallback = fallbackPipeline(steps, async ({ http }) => ({ status: 204, headers: preflightHeadersOf(allowHeaderOf(http.path)) }))
  type Answer = (exchange: Exchange) => Promise<HttpResponse>
  const answerAndLog = (exchange: Exchange, answer: Answer) =>
    requestLog === undefined ? answer(exchange) : logRequest(exchange, requestLog, answer)
  return (http, requestId) => {
    const fallBack = (http: HttpRequest) => answerAndLog(exchangeOf({ ...http, query: '' }, requestId, 'fallback', site, {}), fallback)
    if (http.method === 'OPTIONS' || http.refused !== undefined) return fallBack(http)
    let exchange: Exchange
    try {
      const { interaction, named } = matchRoute(http.isHead === true ? 'HEAD' : http.method, http.path)
      exchange = exchangeOf(http, requestId, interaction, site, named)
    } catch (thrown) {
      return fallBack({ ...http, refused: thrown as Error })
    }
    const answer = pipelines.get(exchange.interaction)
    if (answer === undefined) return fallBack({ ...http, refused: fhirError(404, 'not-found', 'This path is not answered here') })
    return answerAndLog(exchange, answer)
  }
}

/**
 * Creates the state of a request. `known`: content that is available before any step runs, such as the variables of the path. Throws
 * FhirError 400 for too many parameters.
 */
export function exchangeOf(
  http: HttpRequest,
  requestId: string,
  interaction: PipelineCode,
  site: Site,
  known: Partial<RequestContent>,
): Exchange {
  const fhir: RequestContent = { preferences: {}, preconditions: {}, posted: false, parameters: parseParameterPairs(http.query), ...known }
  const learnt = {
    caller: undefined,
    token: undefined,
    noted: {},
    written: [],
    about: [],
    named: [],
    job: undefined,
    pretty: false,
    part: {},
  }
  return { http, interaction, requestId, site, fhir, ...learnt }
}
