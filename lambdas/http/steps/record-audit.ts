/**
 * Writes the audit records of every request, whatever its outcome, and adds the request id to every response.
 * With strict durability, records are stored before the response is sent. If they cannot be stored, the request is not processed. If it has
 * been processed by then, its response is replaced by an error.
 */
import { operationOutcomeOf } from '../../fhir/outcome.ts'
import type { Clock } from '../../ports/execution/clock.ts'
import type { AuditLog } from '../../ports/security/audit-log.ts'
import { auditRecordsOf, type QueryRecorder } from '../audit-record.ts'
import type { Exchange, HttpResponse, Step } from '../exchange.ts'
import { refusalOf } from './describe-errors.ts'
import { toHttpResponse } from './write-response.ts'

/** `recorder`: collects the names in search criteria. Absent if requests have no criteria. */
export const recordAudit = (log: AuditLog, clock: Clock, recorder?: QueryRecorder): Step => {
  const prepared = new WeakMap<Exchange, number>()
  const record: NonNullable<Step['after']> = async (request) => {
    const { event: exchange } = request
    const at = prepared.get(exchange)
    const response = request.response as HttpResponse
    // If `at` is undefined, `log.prepare` has thrown, and the response already reports that.
    const { headers, ...rest } = at === undefined ? response : await recorded(exchange, response, at)
    request.response = { ...rest, headers: { ...headers, 'x-request-id': exchange.requestId } }
  }
  const recorded = async (exchange: Exchange, response: HttpResponse, at: number): Promise<HttpResponse> => {
    try {
      await log.record(...auditRecordsOf(exchange, { at, status: response.status, duration: clock.now() - at }, recorder))
      return response
    } catch (error) {
      return refused(error)
    }
  }
  return {
    async before({ event }) {
      const at = clock.now()
      await log.prepare(at, event.interaction)
      prepared.set(event, at)
    },
    after: record,
    onError: record,
  }
}

function refused(error: unknown): HttpResponse {
  const refusal = refusalOf(error)
  if (refusal === undefined) throw error
  return toHttpResponse({ status: refusal.status, headers: refusal.headers, body: operationOutcomeOf(refusal.issues) })
}
