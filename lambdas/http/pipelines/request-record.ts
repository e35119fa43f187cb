/** Writes the log record of each request. */
import { isResourceType } from '../../fhir/resource-types.ts'
import { CallTimes } from '../../ports/execution/call-times.ts'
import type { RequestLog, RequestRecord } from '../../ports/execution/request-log.ts'
import type { Exchange, HttpResponse } from '../exchange.ts'

/** Returns milliseconds since 1970, with fractions. */
const now = (): number => performance.timeOrigin + performance.now()

/** Answers the request, and logs its record. A request without a response, because the server failed, has status 500. */
export async function logRequest(
  exchange: Exchange,
  log: RequestLog,
  answer: (exchange: Exchange) => Promise<HttpResponse>,
): Promise<HttpResponse> {
  const at = now()
  const times = new CallTimes(now)
  let response: HttpResponse | undefined
  try {
    response = await times.collect(() => answer(exchange))
    return response
  } finally {
    const duration = now() - at
    const { waited, calls } = times.summary
    const ended = { status: response?.status ?? 500, duration: roundMs(duration), own: roundMs(duration - waited) }
    log({
      at: Math.floor(at),
      requestId: exchange.requestId,
      interaction: exchange.interaction,
      ...typeOf(exchange),
      ...ended,
      calls: Object.fromEntries(Object.entries(calls).map(([dependency, time]) => [dependency, roundMs(time)])),
      ...bytesOf(response),
    })
  }
}

const typeOf = ({ fhir: { type } }: Exchange): Pick<RequestRecord, 'type'> => (type !== undefined && isResourceType(type) ? { type } : {})

function bytesOf(response: HttpResponse | undefined): Pick<RequestRecord, 'bytes'> {
  if (response?.stream !== undefined) return response.stream.length === undefined ? {} : { bytes: response.stream.length }
  return { bytes: (response?.body ?? []).reduce((sum, { length }) => sum + length, 0) }
}

/** Returns the milliseconds with one decimal place. */
const roundMs = (time: number): number => Math.round(time * 10) / 10
