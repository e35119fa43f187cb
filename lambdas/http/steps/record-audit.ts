/** One audit record per request, whatever its outcome; every answer names its request. */
import type { AuditLog } from '../../ports/audit-log.ts'
import type { Clock } from '../../ports/clock.ts'
import type { HttpResponse, Step } from '../exchange.ts'

export const recordAudit = (log: AuditLog, clock: Clock): Step => {
  const started = new WeakMap<object, number>()
  const record: NonNullable<Step['after']> = (request) => {
    const { event: exchange } = request
    const response = request.response as HttpResponse
    const { tenant, type, id } = exchange.fhir
    const at = started.get(exchange) ?? clock.now()
    log.record({
      at,
      requestId: exchange.requestId,
      tenant,
      interaction: exchange.interaction,
      ...(type === undefined || id === undefined ? {} : { key: `${type}/${id}` }),
      status: response.status,
      duration: clock.now() - at,
    })
    request.response = { ...response, headers: { ...response.headers, 'x-request-id': exchange.requestId } }
  }
  return {
    before({ event }) {
      started.set(event, clock.now())
    },
    after: record,
    onError: record,
  }
}
