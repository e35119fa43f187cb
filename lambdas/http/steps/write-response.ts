/** Turns an interaction's answer into bytes and headers. */
import { isBundlePage } from '../../fhir/bundle.ts'
import { parseJsonBytes, writeJson } from '../../fhir/json.ts'
import type { Resource } from '../../fhir/resource.ts'
import type { FhirResponse } from '../../interactions/interaction.ts'
import { writtenBundle } from '../../interactions/written-bundle.ts'
import type { HttpResponse, Step } from '../exchange.ts'
import type { Told } from './describe-errors.ts'

export const writeResponse: Step = (() => {
  const write: NonNullable<Step['after']> = async (request) => {
    request.response = await written(request.response as FhirResponse, request.event.shape.pretty)
  }
  return { after: write, onError: write }
})()

async function written({ body, ...rest }: FhirResponse, pretty: boolean): Promise<HttpResponse> {
  if (isBundlePage(body)) return answer(rest, await writtenBundle(body, pretty))
  if (body === undefined) return answer(rest)
  if (!(body instanceof Uint8Array)) return answer(rest, bytesOf(body, pretty))
  const isPretty = pretty && rest.headers?.['content-type'] === undefined
  return answer(rest, isPretty ? bytesOf(parseJsonBytes(body) as Resource, true) : [body])
}

/** What is told without the steps of a request, and so never pretty. */
export const httpResponse = ({ body, ...rest }: Told): HttpResponse => answer(rest, bytesOf(body, false))

const FHIR_JSON = 'application/fhir+json; charset=utf-8'

const answer = ({ status, headers = {} }: Omit<FhirResponse, 'body'>, body?: readonly Uint8Array[]): HttpResponse =>
  body === undefined ? { status, headers } : { status, headers: { 'content-type': FHIR_JSON, ...headers }, body }

const bytesOf = (tree: Resource, pretty: boolean): readonly Uint8Array[] => [
  new TextEncoder().encode(pretty ? `${writeJson(tree, 2)}\n` : writeJson(tree)),
]
