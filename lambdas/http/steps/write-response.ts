/** Turns an interaction's answer into bytes and headers. */
import { isBundlePage } from '../../fhir/bundle.ts'
import { writeJson } from '../../fhir/json.ts'
import type { Resource } from '../../fhir/resource.ts'
import type { FhirResponse } from '../../interactions/interaction.ts'
import { written, writtenBundle } from '../../interactions/written.ts'
import type { HttpResponse, Step } from '../exchange.ts'
import type { Told } from './describe-errors.ts'

export const writeResponse: Step = (() => {
  const write: NonNullable<Step['after']> = async (request) => {
    request.response = await responseOf(request.response as FhirResponse, request.event.shape.pretty)
  }
  return { after: write, onError: write }
})()

async function responseOf({ body, ...rest }: FhirResponse, pretty: boolean): Promise<HttpResponse> {
  if (isBundlePage(body)) return answer(rest, await writtenBundle(body, pretty))
  if (body === undefined) return answer(rest)
  const bytes = body instanceof Uint8Array ? body : bytesOf(body)
  return answer(rest, pretty && rest.headers?.['content-type'] === undefined ? await written([bytes], true) : [bytes])
}

/** What is told without the steps of a request, and so never pretty. */
export const httpResponse = ({ body, ...rest }: Told): HttpResponse => answer(rest, [bytesOf(body)])

const FHIR_JSON = 'application/fhir+json; charset=utf-8'

const answer = ({ status, headers = {} }: Omit<FhirResponse, 'body'>, body?: readonly Uint8Array[]): HttpResponse =>
  body === undefined ? { status, headers } : { status, headers: { 'content-type': FHIR_JSON, ...headers }, body }

const bytesOf = (tree: Resource): Uint8Array => new TextEncoder().encode(writeJson(tree))
