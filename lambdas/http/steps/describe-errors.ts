/** A broken request becomes its status and an OperationOutcome; a broken machine becomes a 500 that says a request id and nothing more. */
import { FhirError, outcome } from '../../fhir/outcome.ts'
import type { FhirResponse } from '../../interactions/interaction.ts'
import { Damaged } from '../../ports/damaged.ts'
import { Overloaded } from '../../ports/overloaded.ts'
import { TooCostly } from '../../ports/too-costly.ts'
import type { Step } from '../exchange.ts'

/** `report` gets what a person must look at; `requestId` finds it again. */
export const describeErrors = (report: (error: unknown, requestId: string) => void): Step => ({
  onError(request) {
    request.response = describe(request.error, request.event.requestId, report)
  },
})

export function describe(error: unknown, requestId: string, report: (error: unknown, requestId: string) => void): FhirResponse {
  if (error instanceof FhirError) return { status: error.status, headers: error.headers, body: outcome(error.issues) }
  if (error instanceof Overloaded)
    return {
      status: 503,
      headers: { 'retry-after': '1' },
      body: outcome([{ severity: 'error', code: 'throttled', text: 'The server is busy: nothing was done, try again' }]),
    }
  if (error instanceof TooCostly)
    return {
      status: 503,
      headers: { 'retry-after': '5' },
      body: outcome([{ severity: 'error', code: 'too-costly', text: 'The search took too long: ask for less' }]),
    }
  report(error, requestId)
  if (error instanceof Damaged)
    return {
      status: 500,
      body: outcome([
        { severity: 'fatal', code: 'exception', text: `The ${error.part} is damaged where this is kept. Request id: ${requestId}` },
      ]),
    }
  return { status: 500, body: outcome([{ severity: 'fatal', code: 'exception', text: `The server failed. Request id: ${requestId}` }]) }
}
