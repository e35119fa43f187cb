/** State of one request in the pipeline. Steps replace the fields that are not readonly as they process the request. */
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
  /** HTTP method. HEAD is passed as GET with `isHead`, and the server sends no body. */
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
  /** Error to answer with instead of processing the request. The request is still recorded in the audit log. */
  readonly refused?: Error
}

/** Response. `body`: pieces, possibly many. They are not joined, because that would block the thread for other requests. */
export type HttpResponse = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body?: readonly Uint8Array[]
  /** Stream to send instead of a body. */
  readonly stream?: ByteStream
}

/** Body that is read while it is sent. `length`: number of bytes; absent if unknown. */
export type ByteStream = { readonly length?: number; readonly pieces: () => AsyncIterable<Uint8Array> }

/** Returns the client's X-Request-Id if it is valid, otherwise undefined. */
export const clientRequestIdOf = ({ 'x-request-id': given = '' }: HttpRequest['headers']): string | undefined =>
  /^[\w.:-]{1,128}$/.test(given) ? given : undefined

/** Base URL of the server, and search contexts of its tenants. `sharedTenant`: setting of that name. Absent or empty: no shared tenant. */
export type Site = {
  /** Base URL without a trailing slash. */
  readonly baseUrl: string
  /** Returns the current search context of a tenant. Do not store it: custom parameters change at any time. */
  readonly reading: SearchContextOf
  readonly sharedTenant?: string | undefined
}

export type Exchange = {
  readonly http: HttpRequest
  readonly interaction: PipelineCode
  readonly requestId: string
  readonly site: Site
  fhir: RequestContent
  /** Undefined until a step identifies the caller. Then no interaction can run. */
  caller: Caller | undefined
  /** Token that identified the caller. Undefined before that, and if the client sent none where none is required. */
  token: VerifiedToken | undefined
  /** True if the client may have versions of another tenant, about which 304 would be wrong. */
  ignoresPreconditions?: boolean
  /** Facts for the audit record that an endpoint of the authorization server or a download link contributes. */
  noted: AuditFacts
  /** Versions that the request created, for the audit record. */
  written: readonly WrittenVersion[]
  /**
   * Compartments of the resources in the response, for the audit record. Includes the patient of a Device and, in reads, the owners of a
   * Binary's security context.
   */
  about: readonly string[]
  /** Names in the requests of the entries of a Bundle, for the audit record. */
  named: readonly RequestNames[]
  /** Export that the request started or names, for the audit record. */
  job: ExportNames | undefined
  /** Whether the client wants indented JSON. https://hl7.org/fhir/R4/http.html#pretty */
  pretty: boolean
  /** Part of each resource that the response shows, by _summary and _elements. */
  part: ResponsePart
}

/** Returns the caller. Throws TypeError if no step has identified it, which is an error in the table of steps. */
export function callerOf({ caller, interaction }: Exchange): Caller {
  if (caller === undefined) throw new TypeError(`no step of ${interaction} finds out who asks`)
  return caller
}

/** Returns the request for an interaction, with its caller. Throws TypeError if no step has identified the caller. */
export function requestOf(exchange: Exchange, interaction: InteractionCode): FhirRequest {
  const { fhir, site, requestId } = exchange
  const caller = callerOf(exchange)
  const { baseUrl, sharedTenant } = site
  return { ...fhir, ...caller, baseUrl, sharedTenant, reading: site.reading(caller.tenant), requestId, interaction }
}

/** Step of a pipeline. `before` hooks run in the order of the steps, `after` and `onError` in reverse order. */
export type Step = MiddlewareObj<Exchange, FhirResponse | HttpResponse>
