/** The whole server above the network: a request in, a response out. Both homes stand on it. */
import type { FhirRequest, Interaction } from '../interactions/interaction.ts'
import type { InteractionCode } from '../interactions/routes.ts'
import type { Code, Exchange, HttpRequest, HttpResponse } from './exchange.ts'
import { pipeline, type Steps } from './pipeline.ts'
import { type Matched, matchRoute } from './route-table.ts'
import { type Origins, preflight } from './steps/allow-origins.ts'

export type Serve = (http: HttpRequest, requestId: string) => Promise<HttpResponse>

export type ServerParts = {
  readonly interactions: Readonly<Record<InteractionCode, Interaction>>
  readonly steps: Steps
  readonly origins: Origins
  /** Without a slash at the end. */
  readonly baseUrl: string
}

export function server({ interactions, steps, origins, baseUrl }: ServerParts): Serve {
  const pipelines = new Map(
    Object.entries(interactions).map(([code, interaction]) => [code, pipeline(code as InteractionCode, steps, interaction)] as const),
  )
  return (http, requestId) => {
    if (http.method === 'OPTIONS') return Promise.resolve(withRequestId(preflight(http, origins), requestId))
    let matched: Matched
    try {
      matched = matchRoute(http.method, http.path)
    } catch (thrown) {
      const fallback = pipeline('fallback', steps, () => Promise.reject(thrown))
      return fallback(exchangeOf(http, 'fallback', requestId, {}, baseUrl))
    }
    return pipelines.get(matched.interaction)!(exchangeOf(http, matched.interaction, requestId, matched, baseUrl))
  }
}

const withRequestId = (response: HttpResponse, requestId: string): HttpResponse => ({
  ...response,
  headers: { ...response.headers, 'x-request-id': requestId },
})

export function exchangeOf(http: HttpRequest, interaction: Code, requestId: string, named: Partial<Matched>, baseUrl: string): Exchange {
  const { interaction: _, ...key } = named
  const fhir: FhirRequest = {
    ...key,
    interaction: interaction as InteractionCode,
    tenant: '',
    parameters: http.query === '' ? [] : [...new URLSearchParams(http.query)],
    posted: false,
    preconditions: {},
    preferences: {},
    baseUrl,
  }
  return { http, interaction, requestId, fhir, shape: { pretty: false } }
}
