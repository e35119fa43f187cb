/** Turns an interaction's answer into bytes and headers. */
import { isBundlePage, writeBundle } from '../../fhir/bundle.ts'
import { parseJsonBytes, writeJson } from '../../fhir/json.ts'
import type { FhirResponse } from '../../interactions/interaction.ts'
import type { HttpResponse, Step } from '../exchange.ts'

export const writeResponse: Step = (() => {
  const write: NonNullable<Step['after']> = (request) => {
    request.response = httpResponse(request.response as FhirResponse, request.event.shape.pretty)
  }
  return { after: write, onError: write }
})()

const FHIR_JSON = 'application/fhir+json; charset=utf-8'

export function httpResponse({ status, headers = {}, body }: FhirResponse, pretty: boolean): HttpResponse {
  if (body === undefined) return { status, headers }
  if (headers['content-type'] !== undefined) return { status, headers, body: body as Uint8Array }
  const bytes = isBundlePage(body) ? writeBundle(body) : body instanceof Uint8Array ? body : encode(writeJson(body))
  return {
    status,
    headers: { ...headers, 'content-type': FHIR_JSON },
    body: pretty ? encode(`${writeJson(parseJsonBytes(bytes), 2)}\n`) : bytes,
  }
}

const encode = (text: string): Uint8Array => new TextEncoder().encode(text)
