/**
 * Converts events of API Gateway to requests, and responses to results for API Gateway.
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/set-up-lambda-proxy-integrations.html
 */
import { isUtf8 } from 'node:buffer'
import { type Column, columnOf, ROUTES } from '../catalogue/catalogue.ts'
import { type Issue, operationOutcomeOf } from '../fhir/outcome.ts'
import { clientRequestIdOf, type HttpRequest, type HttpResponse } from './exchange.ts'
import { CLIENT_ADDRESS_HEADER, isSentAsBytes } from './gateway-contract.ts'
import { repeatedHeaderError } from './headers.ts'
import { toHttpResponse } from './steps/write-response.ts'

type Values = Readonly<Record<string, string>> | null | undefined
type Lists = Readonly<Record<string, readonly string[]>> | null | undefined

export type GatewayEvent = {
  readonly httpMethod: string
  /** Path of the API Gateway resource with variables, such as `/{type}/{id}`. */
  readonly resource: string
  /** Decoded values of the variables in `resource`. */
  readonly pathParameters?: Values
  readonly multiValueQueryStringParameters?: Lists
  readonly multiValueHeaders?: Lists
  readonly body?: string | null
  readonly isBase64Encoded?: boolean
  readonly requestContext?: {
    readonly requestId?: string
    readonly identity?: { readonly userArn?: string | null; readonly sourceIp?: string | null }
  }
}

export type GatewayResult = {
  readonly statusCode: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly isBase64Encoded: boolean
}

/**
 * Maximum bytes of a result as JSON, below the Lambda limit. A larger response is replaced by an OperationOutcome.
 * https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
 */
const LARGEST_RESULT = 6_000_000
/**
 * Characters of a body below which the result fits without a check. JSON has at most six bytes per character, and headers have some
 * thousands.
 */
const SURELY_FITS = 900_000

/** Converts the event. `isBehindFront`: only CloudFront can send requests, so its header is trusted for the client address. */
export function requestOf(event: GatewayEvent, isBehindFront = false): HttpRequest {
  const { httpMethod, resource, pathParameters, multiValueQueryStringParameters, body, isBase64Encoded } = event
  const { userArn: arn, sourceIp } = event.requestContext?.identity ?? {}
  const headers = headersOf(event)
  const address = isBehindFront ? headers[CLIENT_ADDRESS_HEADER] : sourceIp
  const pairs = Object.entries(multiValueQueryStringParameters ?? {}).flatMap(([name, values]) =>
    values.map((value): [string, string] => [name, value]),
  )
  return {
    ...(httpMethod === 'HEAD' ? { method: 'GET', isHead: true } : { method: httpMethod }),
    path: resource.replace(/\{(\w+)\+?\}/g, (_, name: string) => encodeURIComponent(pathParameters?.[name] ?? '')),
    query: new URLSearchParams(pairs).toString(),
    headers,
    ...(arn ? { arn } : {}),
    ...(address ? { address } : {}),
    ...refusalOf(event),
    cameAsText: !isBase64Encoded,
    body: body === null || body === undefined ? NO_BODY : Buffer.from(body, isBase64Encoded ? 'base64' : 'utf8'),
  }
}

const NO_BODY = new Uint8Array()

/**
 * Returns the headers with names in lower case. Joins cookies by `; `, because HTTP/2 may divide them.
 * https://www.rfc-editor.org/rfc/rfc9113#section-8.2.3
 */
const headersOf = ({ multiValueHeaders }: GatewayEvent): Record<string, string> =>
  Object.fromEntries(
    Object.entries(multiValueHeaders ?? {}).map(([given, values]) => {
      const name = given.toLowerCase()
      return [name, values.join(name === 'cookie' ? '; ' : ', ')]
    }),
  )

function refusalOf({ multiValueHeaders }: GatewayEvent): Pick<HttpRequest, 'refused'> {
  const names = Object.entries(multiValueHeaders ?? {}).flatMap(([name, values]) => values.map(() => name))
  const refused = repeatedHeaderError(names)
  return refused === undefined ? {} : { refused }
}

/** Returns the client's X-Request-Id if it is valid, otherwise the gateway's id or a new one. */
export const requestIdOf = (event: GatewayEvent, newId: () => string): string =>
  clientRequestIdOf(headersOf(event)) ?? event.requestContext?.requestId ?? newId()

export function resultOf(event: GatewayEvent, response: HttpResponse): GatewayResult {
  const result = encoded(event, response)
  if (result.body.length < SURELY_FITS) return result
  return Buffer.byteLength(JSON.stringify(result)) <= LARGEST_RESULT ? result : encoded(event, tooLarge(event, response))
}

/**
 * Encodes the body as text if it is UTF-8, otherwise as base64. API Gateway decodes base64 only for some Accept headers. For others the
 * response is 406, so that no changed content is sent.
 */
function encoded(event: GatewayEvent, { status, headers, body }: HttpResponse): GatewayResult {
  const bytes = Buffer.concat(body ?? [])
  const isText = isUtf8(bytes)
  // guard: content-is-sent-unchanged
  if (!isText && !isSentAsBytes(headersOf(event).accept)) return encoded(event, told(headers, 406, UNSENDABLE))
  const isLeftOut = event.httpMethod === 'HEAD'
  return {
    statusCode: status,
    headers,
    body: isLeftOut ? '' : bytes.toString(isText ? 'utf8' : 'base64'),
    isBase64Encoded: !isText && !isLeftOut,
  }
}

const UNSENDABLE: Issue = {
  severity: 'error',
  code: 'not-supported',
  text: 'API Gateway would change this content. Accept application/fhir+json, or put application/octet-stream first in Accept',
}

/** Returns a response with an OperationOutcome as body, and with the other headers unchanged. */
const told = ({ 'content-type': _, ...headers }: HttpResponse['headers'], status: number, issue: Issue): HttpResponse =>
  toHttpResponse({ status, headers, body: operationOutcomeOf([issue]) })

/** Columns whose interactions only read, also by POST. */
const READING: ReadonlySet<Column> = new Set<Column>(['SEARCH', 'QUERY', 'INPUT'])

const isReadByPost = (resource: string): boolean =>
  ROUTES.some(({ method, path, interaction }) => method === 'POST' && path === resource && READING.has(columnOf(interaction)))

/**
 * Replaces a response that is too large. Reads and errors become 403.
 * Any other request is done: its response keeps the status, with a warning in place of the content.
 */
function tooLarge({ httpMethod, resource }: GatewayEvent, { status, headers }: HttpResponse): HttpResponse {
  const limit = `The response is longer than ${LARGEST_RESULT} bytes`
  const isRead = httpMethod === 'GET' || isReadByPost(resource)
  return isRead || status >= 300
    ? told(headers, 403, {
        severity: 'error',
        code: 'too-costly',
        text: `${limit}: lower _count, use _elements, or omit _pretty`,
      })
    : told(headers, status, { severity: 'warning', code: 'too-long', text: `${limit}. The request was carried out` })
}
