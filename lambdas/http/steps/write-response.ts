/** Converts the response of an interaction to bytes and headers, and passes the names in it to the audit record. */
import { type BundlePage, byteSizeOf, isBundlePage } from '../../fhir/bundle.ts'
import { writeJson } from '../../fhir/json.ts'
import type { Resource } from '../../fhir/resource.ts'
import type { FhirResponse } from '../../interactions/interaction.ts'
import { writeBundle, writeChunks } from '../../interactions/json-chunks.ts'
import { shownCompartmentsOf } from '../../interactions/resources/shown-entry.ts'
import type { HttpResponse, Step } from '../exchange.ts'
import type { OutcomeResponse } from './describe-errors.ts'

export const writeResponse: Step = (() => {
  const write: NonNullable<Step['after']> = async (request) => {
    const { event, response } = request
    const { written = [], named = [], job, by } = response as FhirResponse
    event.written = written
    event.about = shownCompartmentsOf(response as FhirResponse)
    event.named = named
    event.job = job
    if (by !== undefined) event.noted = { ...event.noted, ...by }
    const { stream } = response as HttpResponse
    const answered = await responseOf(response as FhirResponse, event.pretty)
    request.response = stream === undefined ? answered : { ...answered, stream }
  }
  return { after: write, onError: write }
})()

/**
 * Maximum bytes of JSON to indent, more than a page has. Longer JSON is not indented, because indentation can make nested JSON thirty times
 * as long.
 */
const LONGEST_PRETTY = 5_000_000

async function responseOf({ body, ...rest }: FhirResponse, pretty: boolean): Promise<HttpResponse> {
  if (isBundlePage(body)) return answer(rest, await writeBundle(body, pretty && lengthOfPage(body) <= LONGEST_PRETTY))
  if (body === undefined) return answer(rest)
  const bytes = body instanceof Uint8Array ? body : bytesOf(body)
  const isPretty = pretty && bytes.length <= LONGEST_PRETTY && rest.headers?.['content-type'] === undefined
  return answer(rest, isPretty ? await writeChunks([bytes], true) : [bytes])
}

const lengthOfPage = ({ entries }: BundlePage): number => entries.reduce((sum, { resource }) => sum + byteSizeOf(resource), 0)

/** Converts a response that no step has processed. Its JSON is not indented. */
export const toHttpResponse = ({ body, ...rest }: OutcomeResponse): HttpResponse => answer(rest, [bytesOf(body)])

const FHIR_JSON = 'application/fhir+json; charset=utf-8'

/** Default header: caches must not store responses, because only the caller may see them. https://hl7.org/fhir/R4/http.html#etag */
const PRIVATE = { 'cache-control': 'no-store' }

const answer = ({ status, headers = {} }: Omit<FhirResponse, 'body'>, body?: readonly Uint8Array[]): HttpResponse =>
  body === undefined
    ? { status, headers: { ...PRIVATE, ...headers } }
    : { status, headers: { ...PRIVATE, 'content-type': FHIR_JSON, ...headers }, body }

const bytesOf = (tree: Resource): Uint8Array => new TextEncoder().encode(writeJson(tree))
