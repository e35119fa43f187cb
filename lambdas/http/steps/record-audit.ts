/**
 * One audit record per request, whatever its outcome; every answer names its request. Where records must be kept before an answer goes out
 * and cannot be, nothing is done, or what was done is not acknowledged.
 */
import { outcome } from '../../fhir/outcome.ts'
import { isId } from '../../fhir/resource.ts'
import { isResourceType } from '../../fhir/resource-types.ts'
import type { AuditLog, AuditRecord } from '../../ports/audit-log.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Exchange, HttpResponse, Step } from '../exchange.ts'
import { refusalOf } from './describe-errors.ts'
import { httpResponse } from './write-response.ts'

export const recordAudit = (log: AuditLog, clock: Clock): Step => {
  const prepared = new WeakMap<Exchange, number>()
  const record: NonNullable<Step['after']> = async (request) => {
    const { event: exchange } = request
    const at = prepared.get(exchange)
    const response = request.response as HttpResponse
    // What was not prepared was refused for that.
    const { headers, ...rest } = at === undefined ? response : await recorded(exchange, response, at)
    request.response = { ...rest, headers: { ...headers, 'x-request-id': exchange.requestId } }
  }
  const recorded = async (exchange: Exchange, response: HttpResponse, at: number): Promise<HttpResponse> => {
    const { interaction, requestId, noted } = exchange
    const { type, id } = exchange.fhir
    const tenant = exchange.caller?.tenant ?? ''
    try {
      const { status } = response
      await log.record({
        at,
        requestId,
        tenant,
        interaction,
        ...whoAsks(exchange),
        ...keyOf(type, id),
        ...noted,
        status,
        duration: clock.now() - at,
      })
      return response
    } catch (error) {
      return refused(error)
    }
  }
  return {
    async before({ event }) {
      const at = clock.now()
      await log.prepare(at)
      prepared.set(event, at)
    },
    after: record,
    onError: record,
  }
}

function refused(error: unknown): HttpResponse {
  const refusal = refusalOf(error)
  if (refusal === undefined) throw error
  return httpResponse({ status: refusal.status, headers: refusal.headers, body: outcome(refusal.issues) })
}

/** Nothing where nobody is asked. */
function whoAsks({ token, http }: Exchange): Pick<AuditRecord, 'client' | 'user' | 'subject' | 'scopes' | 'patient'> {
  if (token === undefined || (token.issuer === '' && http.arn === undefined)) return {}
  const { client, subject, scopes, user, patient } = token
  return {
    client,
    subject,
    scopes: scopes.join(' '),
    ...(user === undefined ? {} : { user }),
    ...(patient === undefined ? {} : { patient }),
  }
}

/** A URL may hold anything: what is neither a type nor an id is not written down. */
const keyOf = (type: string | undefined, id: string | undefined): { readonly key?: string } =>
  type !== undefined && id !== undefined && isResourceType(type) && isId(id) ? { key: `${type}/${id}` } : {}
