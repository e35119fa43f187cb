/** One request on its way through the pipeline. Steps replace `fhir`, `caller`, `pretty` and `part` as they learn more. */
import type { MiddlewareObj } from '@middy/core'
import type { VerifiedToken } from '../access/verification/verified-token.ts'
import type { AuditFacts } from '../auth/endpoint.ts'
import type { AuthCode, InteractionCode } from '../catalogue/routes.ts'
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
  /** HEAD comes as GET: the server leaves the body out. */
  readonly method: string
  readonly isHead?: boolean
  /** Below the base, beginning with a slash, percent-encoded. */
  readonly path: string
  /** Without the question mark, percent-encoded. */
  readonly query: string
  /** Names in lower case; a repeated header joined by `, `. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  /** The body was longer than the server reads, and is not here. */
  readonly bodyTooLong?: boolean
  /** The gateway passed the body as text: bytes that are not UTF-8 have become U+FFFD. */
  readonly cameAsText?: boolean
  /** Why its body was not read: whatever it is, the request is refused. */
  readonly unread?: Error
  /** Who asks, as the gateway says, which has verified it. */
  readonly arn?: string
  /** Of the peer, where it is known. */
  readonly address?: string
  /** Why it is answered without being looked at: it is recorded like every other. */
  readonly refused?: Error
}

/** `body`: in pieces, which may be many and are never joined where others wait for the thread. */
export type HttpResponse = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body?: readonly Uint8Array[]
  /** Instead of a body. */
  readonly stream?: ByteStream
}

/** A body that is read as it is sent. Without a length: as many bytes as come. */
export type ByteStream = { readonly length?: number; readonly pieces: () => AsyncIterable<Uint8Array> }

/** `fallback` answers what no route matches. */
export type PipelineCode = InteractionCode | AuthCode | 'fallback'

/** The client's X-Request-Id, where it can be one. */
export const clientRequestIdOf = ({ 'x-request-id': given = '' }: HttpRequest['headers']): string | undefined =>
  /^[\w.:-]{1,128}$/.test(given) ? given : undefined

/** Where the server stands: what it calls itself, and how it reads texts. */
export type Site = {
  /** Without a slash at the end. */
  readonly baseUrl: string
  /** As of now: parameters come and go. */
  readonly reading: SearchContextOf
}

export type Exchange = {
  readonly http: HttpRequest
  readonly interaction: PipelineCode
  readonly requestId: string
  readonly site: Site
  fhir: RequestContent
  /** Undefined until a step has found out who asks: before, there is no request an interaction could be given. */
  caller: Caller | undefined
  /** By which it was found out; undefined also where nobody has to say. */
  token: VerifiedToken | undefined
  /** What an endpoint of the authorization server, or a link, says, for the audit record. */
  noted: AuditFacts
  /** The versions the request made. */
  written: readonly WrittenVersion[]
  /** Compartments of the resources that are shown. */
  about: readonly string[]
  /** Names in the requests of a Bundle's entries. */
  named: readonly RequestNames[]
  /** The export the request began, or is about. */
  job: ExportNames | undefined
  /** Whether the client wants its answer indented. https://hl7.org/fhir/R4/http.html#pretty */
  pretty: boolean
  /** Of each resource that is shown. */
  part: ResponsePart
}

/** TypeError where no step has found out who asks. */
export function callerOf({ caller, interaction }: Exchange): Caller {
  if (caller === undefined) throw new TypeError(`no step of ${interaction} finds out who asks`)
  return caller
}

/** What an interaction is given: who asks is part of it. */
export function requestOf(exchange: Exchange, interaction: InteractionCode): FhirRequest {
  const { fhir, site, requestId } = exchange
  const caller = callerOf(exchange)
  return { ...fhir, ...caller, baseUrl: site.baseUrl, reading: site.reading(caller.tenant), requestId, interaction }
}

/** What a pipeline is made of. `after` and `onError` run in reverse order. */
export type Step = MiddlewareObj<Exchange, FhirResponse | HttpResponse>
