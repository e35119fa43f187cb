/**
 * Converts errors to responses with an OperationOutcome. A request error or a temporary fault gets its own status. Any other fault becomes
 * 500, with a request id and few details. The authorization server answers with an OAuth error or a page instead.
 */
import { errorResponse, OAuthError } from '../../auth/oauth-error.ts'
import { errorPage } from '../../auth/pages/page-templates.ts'
import { isPage } from '../../catalogue/catalogue.ts'
import { FhirError, type IssueCode, operationOutcomeOf } from '../../fhir/outcome.ts'
import type { Resource } from '../../fhir/resource.ts'
import type { FhirResponse } from '../../interactions/interaction.ts'
import { type FaultKind, type IndexLag, isFault, MachineFault } from '../../ports/faults.ts'
import { MAX_GROUPS } from '../../ports/search/plan.ts'
import { oauthErrorOf, toFhirResponse } from '../auth-exchange.ts'
import type { Exchange, Step } from '../exchange.ts'
import { isAuthPath } from '../route-table.ts'

/** Response whose body is an OperationOutcome. */
export type OutcomeResponse = FhirResponse & { readonly body: Resource }

export type ReportError = (error: unknown, requestId: string) => void

/** `report`: receives errors that an operator must examine. The response names the same `requestId`. */
export const describeErrors = (report: ReportError): Step => ({
  onError(request) {
    const { event, error } = request
    request.response = isAuthPath(event.http.path) ? describeToClient(event, error, report) : describeError(error, event.requestId, report)
  },
})

/**
 * Converts an error of the authorization server: to a page if a user sees the endpoint, otherwise to an OAuth error. Notes the code of the
 * error for the audit record.
 */
function describeToClient(exchange: Exchange, thrown: unknown, report: ReportError): FhirResponse {
  const error = thrown instanceof OAuthError ? thrown : oauthErrorOf(toFhirError(thrown, exchange.requestId, report))
  exchange.noted = { ...exchange.noted, outcome: error.code }
  return toFhirResponse(isPage(exchange.interaction) ? errorPage(error.message, error.status, error.headers) : errorResponse(error))
}

export function describeError(error: unknown, requestId: string, report: ReportError): OutcomeResponse {
  const { status, headers, issues } = toFhirError(error, requestId, report)
  return { status, headers, body: operationOutcomeOf(issues) }
}

/** Converts anything thrown to the error that the client receives. Reports it if an operator must examine it. */
export function toFhirError(error: unknown, requestId: string, report: ReportError): FhirError {
  const refused = refusalOf(error)
  if (refused === undefined || isReported(error)) report(error, requestId)
  if (refused !== undefined) return refused
  const text = `${error instanceof MachineFault ? ANSWERS[error.fault].text : BROKEN.text}. Request id: ${requestId}`
  return new FhirError(500, [{ severity: 'fatal', code: 'exception', text }])
}

/** Returns the error to send if the client can correct the request or try again. Returns undefined if the server has failed. */
export function refusalOf(error: unknown): FhirError | undefined {
  if (error instanceof FhirError) return error
  if (!(error instanceof MachineFault)) return undefined
  const answer: Answer = ANSWERS[error.fault]
  if (answer.status === 500) return undefined
  const { status, code } = answer
  const { retryAfter = answer.retryAfter, versions }: IndexLag = isFault(error, 'index-behind') ? error : {}
  const text = versions === undefined ? answer.text : `${answer.text}. ${versions.toLocaleString('en')} versions are not indexed yet`
  return new FhirError(status, [{ severity: 'error', code, text }], retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) })
}

const REPORTED: ReadonlySet<FaultKind> = new Set(['unavailable', 'disk-full', 'index-ahead', 'timed-out'])

/** Whether an operator must examine the fault, although the client may try again. */
const isReported = (error: unknown): boolean => error instanceof MachineFault && REPORTED.has(error.fault)

/** Response to a machine fault. `retryAfter`: seconds. */
type Answer =
  | { readonly status: 403 | 503 | 504; readonly code: IssueCode; readonly text: string; readonly retryAfter?: number }
  | { readonly status: 500; readonly text: string }

const BUSY = { status: 503, code: 'throttled', text: 'The server is busy: nothing was done, try again', retryAfter: 1 } as const
const BROKEN = { status: 500, text: 'The server failed' } as const

const ANSWERS: Readonly<Record<FaultKind, Answer>> = {
  overloaded: BUSY,
  refused: BUSY,
  'too-costly': {
    status: 503,
    code: 'too-costly',
    text: 'The search took longer than it may (FHIR_SEARCH_BUDGET): ask for less',
    retryAfter: 5,
  },
  'index-behind': {
    status: 503,
    code: 'throttled',
    text: 'Timed out waiting for the search index to catch up. Nothing was changed; try again, or search with X-Consistency: eventual, which does not wait',
    retryAfter: 1,
  },
  'writes-hidden': {
    status: 503,
    code: 'throttled',
    text: 'The index of the table is behind its latest writes. Histories with _since and conditional interactions would miss some of them. Nothing was done: try again',
    retryAfter: 60,
  },
  'too-many-groups': {
    status: 403,
    code: 'too-costly',
    text: `The search has more than ${MAX_GROUPS.toLocaleString('en')} groups: ask for less`,
  },
  'not-recorded': {
    status: 503,
    code: 'throttled',
    text: 'Audit records cannot be written: nothing is answered until they can',
    retryAfter: 5,
  },
  'not-applied': BROKEN,
  failed: BROKEN,
  unavailable: {
    status: 503,
    code: 'no-store',
    text: 'What the server stands on does not answer: nothing was done, try again',
    retryAfter: 5,
  },
  'disk-full': {
    status: 503,
    code: 'no-store',
    text: 'The disk of the server is full. Nothing was changed',
    retryAfter: 60,
  },
  'store-damaged': { status: 500, text: 'The store is damaged where this is kept' },
  'clock-jumped': {
    status: 503,
    code: 'exception',
    text: "The server's clock jumped: nothing is written until it is right again, or accepted",
    retryAfter: 60,
  },
  'writes-stopped': {
    status: 503,
    code: 'throttled',
    text: 'The operator of this server has stopped all writes (FHIR_WRITES), as for maintenance: nothing was written, try again later. Reads and searches go on',
    retryAfter: 300,
  },
  'timed-out': {
    status: 504,
    code: 'timeout',
    text: 'The answer took too long; a write may have been done',
    retryAfter: 5,
  },
  'not-begun': {
    status: 503,
    code: 'throttled',
    text: 'The entries before took the time there is for a Bundle: nothing was done for this one. Send it again, without those that are done',
    retryAfter: 1,
  },
  'index-ahead': {
    status: 503,
    code: 'incomplete',
    text: 'The search index contains versions that the store does not have. Searches are rejected until it is rebuilt',
    retryAfter: 60,
  },
  'index-outdated': {
    status: 503,
    code: 'incomplete',
    text: 'The index is being made again for what is asked: nothing was done, try again later',
    retryAfter: 60,
  },
  'index-damaged': { status: 500, text: 'The index is damaged where this is kept' },
}
