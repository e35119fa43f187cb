/**
 * Errors that API Gateway returns itself, as OperationOutcomes that browsers can read.
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/supported-gateway-response-types.html
 */
import { ResponseType, type RestApi } from 'aws-cdk-lib/aws-apigateway'
import type { Settings } from '../settings/settings.ts'

type Answer = { readonly type: ResponseType; readonly status?: number; readonly code: string; readonly text: string }

const UNKNOWN = 'No interaction of this server has this path'

// biome-ignore format: a table
const ANSWERS: readonly Answer[] = [
  { type: ResponseType.UNAUTHORIZED, status: 401, code: 'login', text: 'The request is not authorized' },
  { type: ResponseType.ACCESS_DENIED, status: 403, code: 'forbidden', text: 'The caller may not do this' },
  { type: ResponseType.INVALID_SIGNATURE, status: 401, code: 'login', text: 'The signature of the request does not fit it' },
  { type: ResponseType.EXPIRED_TOKEN, status: 401, code: 'login', text: 'The credentials of the request have expired' },
  { type: ResponseType.REQUEST_TOO_LARGE, status: 413, code: 'too-long', text: 'The body is too large' },
  { type: ResponseType.UNSUPPORTED_MEDIA_TYPE, status: 415, code: 'not-supported', text: 'The body has a type that is not known here' },
  { type: ResponseType.THROTTLED, status: 429, code: 'throttled', text: 'Too many requests: try again later' },
  { type: ResponseType.QUOTA_EXCEEDED, status: 429, code: 'throttled', text: 'Too many requests: try again later' },
  { type: ResponseType.WAF_FILTERED, status: 403, code: 'forbidden', text: 'The request was refused before it reached the server' },
  { type: ResponseType.BAD_REQUEST_PARAMETERS, status: 400, code: 'invalid', text: 'The path or the query is malformed' },
  { type: ResponseType.BAD_REQUEST_BODY, status: 400, code: 'invalid', text: 'The body is malformed' },
  { type: ResponseType.INTEGRATION_TIMEOUT, status: 504, code: 'timeout', text: 'The answer took too long; a write may have been done' },
  { type: ResponseType.INTEGRATION_FAILURE, status: 502, code: 'exception', text: 'The server failed; a write may have been done' },
  { type: ResponseType.DEFAULT_4XX, code: 'invalid', text: 'The request was refused before it reached the server' },
  { type: ResponseType.DEFAULT_5XX, code: 'exception', text: 'The server failed; a write may have been done' },
]

export function addGatewayErrors(api: RestApi, settings: Settings): void {
  for (const { type, status, code, text } of [...ANSWERS, withoutRoute(settings)]) {
    api.addGatewayResponse(type.responseType, {
      type,
      ...(status === undefined ? {} : { statusCode: String(status) }),
      // A cache must not serve this response to another request.
      responseHeaders: { 'Content-Type': "'application/fhir+json; charset=utf-8'", 'Cache-Control': "'no-store'", ...originOf(settings) },
      templates: { 'application/json': toOutcomeJson(code, text) },
    })
  }
}

/** Returns the error for an unknown path: 404. With `iam` it is 401, because API Gateway uses the same type for unsigned requests. */
const withoutRoute = ({ access }: Settings): Answer =>
  access === 'iam'
    ? { type: ResponseType.MISSING_AUTHENTICATION_TOKEN, status: 401, code: 'login', text: `The request is not signed, or: ${UNKNOWN}` }
    : { type: ResponseType.MISSING_AUTHENTICATION_TOKEN, status: 404, code: 'not-found', text: UNKNOWN }

export const toOutcomeJson = (code: string, text: string): string =>
  JSON.stringify({ resourceType: 'OperationOutcome', issue: [{ severity: 'error', code, details: { text } }] })

/** Returns the CORS header. It is the same for every request, so it can name only one origin or all of them. */
function originOf(settings: Settings): Record<string, string> {
  const origin = allowedOriginOf(settings)
  return origin === undefined ? {} : { [ALLOW_ORIGIN_HEADER]: `'${origin}'` }
}

export const ALLOW_ORIGIN_HEADER = 'Access-Control-Allow-Origin'

/** Returns the allowed origin, `*` for all, or undefined if the setting lists several. */
export function allowedOriginOf({ service }: Settings): string | undefined {
  const origins = String(service.allowedOrigins ?? '*')
  return origins.includes(',') ? undefined : origins
}
