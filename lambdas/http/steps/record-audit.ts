/** One audit record per request, whatever its outcome; every answer names its request. */
import { isId } from '../../fhir/resource.ts'
import { isResourceType } from '../../fhir/resource-types.ts'
import type { AuditLog } from '../../ports/audit-log.ts'
import type { Clock } from '../../ports/clock.ts'
import type { HttpResponse, Step } from '../exchange.ts'

export const recordAudit = (log: AuditLog, clock: Clock): Step => {
  const started = new WeakMap<object, number>()
  const record: NonNullable<Step['after']> = (request) => {
    const { event: exchange } = request
    const response = request.response as HttpResponse
    const { type, id } = exchange.fhir
    const at = started.get(exchange) ?? clock.now()
    log.record({
      at,
      requestId: exchange.requestId,
      tenant: exchange.caller?.tenant ?? '',
      interaction: exchange.interaction,
      ...keyOf(type, id),
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

/** A URL may hold anything: what is neither a type nor an id is not written down. */
const keyOf = (type: string | undefined, id: string | undefined): { readonly key?: string } =>
  type !== undefined && id !== undefined && isResourceType(type) && isId(id) ? { key: `${type}/${id}` } : {}
