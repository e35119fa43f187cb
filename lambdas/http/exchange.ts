/** State of one request in the pipeline. Steps replace `fhir`, `caller`, `pretty` and `part` as they learn more. */
import type { MiddlewareObj } from '@middy/core'
import type { VerifiedToken } from '../access/verification/verified-token.ts'
import type { AuditFacts } from '../auth/endpoint.ts'
import type { InteractionCode, PipelineCode } from '../catalogue/catalogue.ts'
import type {
  Caller,
  ExportNames,
  FhirRequest,
  FhirResponse,
  RequestContent,
  RequestNames,
  WrittenVersion,
} from '../interactions/interaction.ts'
import type { ResponsePart } from '../search/query/response-part.ts'
import type { SearchContextOf } from '../search/search-context.ts'

export type HttpRequest = {
  /** HTTP method. HEAD arrives as GET, and the server omits the body. */
  readonly method: string
  readonly isHead?: boolean
  /** Path below the base, beginning with a slash, percent-encoded. */
  readonly path: string
  /** Query without the question mark, percent-encoded. */
  readonly query: string
  /** Names are in lower case. Values of a repeated header are joined by `, `. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  /** True if the body is longer than the limit. `body` is then empty. */
  readonly bodyTooLong?: boolean
  /** True if the gateway passed the body as text. Bytes that are not UTF-8 have then become U+FFFD. */
  readonly cameAsText?: boolean
  /** Error of the check before the body is read. The request is rejected with it, regardless of the body. */
  readonly unread?: Error
  /** Caller identity (ARN) that the gateway has verified. */
  readonly arn?: string
  /** IP address of the client, if known. */
  readonly address?: string
  /** Error that answers the request without processing it. The request is still recorded. */
  readonly refused?: Error
}

/** `body`: in pieces, possibly many. They are never joined in a process where other requests wait for the thread. */
export type HttpResponse = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body?: readonly Uint8Array[]
  /** Sent instead of a body. */
  readonly stream?: ByteStream
}

/** Body that is read while it is sent. `length`: number of bytes; absent if unknown. */
export type ByteStream = { readonly length?: number; readonly pieces: () => AsyncIterable<Uint8Array> }

/** Returns the client's X-Request-Id if it is valid, otherwise undefined. */
export const clientRequestIdOf = ({ 'x-request-id': given = '' }: HttpRequest['headers']): string | undefined =>
  /^[\w.:-]{1,128}$/.test(given) ? given : undefined

/** Base URL of the server, and search contexts of its tenants. */
export type Site = {
  /** Base URL without a trailing slash. */
  readonly baseUrl: string
  /** Returns the current search context of a tenant. Do not store it: custom parameters change at any time. */
  readonly reading: SearchContextOf
}

export type Exchange = {
  readonly http: HttpRequest
  readonly interaction: PipelineCode
  readonly requestId: string
  readonly site: Site
  fhir: RequestContent
  /** Undefined until a step has identified the caller. No interaction can run before. */
  caller: Caller | undefined
  /** Token that identified the caller. Also undefined if the interaction requires none and the client sent none. */
  token: VerifiedToken | undefined
  /** Facts for the audit record, from an endpoint of the authorization server or from a download link. */
  noted: AuditFacts
  /** Versions that the request created. */
  written: readonly WrittenVersion[]
  /** Compartments of the resources in the response. */
  about: readonly string[]
  /** Names in the requests of a Bundle's entries. */
  named: readonly RequestNames[]
  /** Export that the request started or concerns. */
  job: ExportNames | undefined
  /** Whether the client wants indented JSON. https://hl7.org/fhir/R4/http.html#pretty */
  pretty: boolean
  /** Part of each resource that the response shows, by _summary and _elements. */
  part: ResponsePart
}

/** Returns the caller. Throws TypeError if no step has identified it. */
export function callerOf({ caller, interaction }: Exchange): Caller {
  if (caller === undefined) throw new TypeError(`no step of ${interaction} finds out who asks`)
  return caller
}

/** Returns the request for an interaction, with its caller. Throws TypeError if no step has identified the caller. */
export function requestOf(exchange: Exchange, interaction: InteractionCode): FhirRequest {
  const { fhir, site, requestId } = exchange
  const caller = callerOf(exchange)
  return { ...fhir, ...caller, baseUrl: site.baseUrl, reading: site.reading(caller.tenant), requestId, interaction }
}

/** Element of a pipeline. `after` and `onError` run in reverse order of the steps. */
export type Step = MiddlewareObj<Exchange, FhirResponse | HttpResponse>
