/**
 * Prevents the response time of a 404 from revealing whether a hidden resource exists. If the caller may not see all resources of the type,
 * 404 is sent a multiple of 20 ms after the request began. https://www.rfc-editor.org/rfc/rfc9110#section-17.3
 */
import { isWholeTenant, isWholeType } from '../../access/rules.ts'
import type { Exchange, Step } from '../exchange.ts'

/** Interval in milliseconds, at whose multiples 404 is sent. It is longer than reading and checking most hidden resources takes. */
const SLOT = 20

export type Timer = { readonly now: () => number; readonly wait: (time: number) => Promise<unknown> }

const REAL: Timer = { now: () => performance.now(), wait: (time) => new Promise((resolve) => setTimeout(resolve, time)) }

export function levelResponseTime({ now, wait }: Timer = REAL): Step {
  const begun = new WeakMap<Exchange, number>()
  const level: NonNullable<Step['after']> = async ({ event, response }) => {
    const since = begun.get(event)
    if (since === undefined || response?.status !== 404 || seesAll(event)) return
    const taken = now() - since
    // Round up, so that fractions of a millisecond reveal nothing either.
    await wait(Math.ceil(Math.ceil(taken / SLOT) * SLOT - taken))
  }
  return {
    before({ event }) {
      begun.set(event, now())
    },
    after: level,
    onError: level,
  }
}

/** Whether the caller may read all resources of the type. Also true without a caller: the response then depends on no resource. */
function seesAll({ caller, fhir: { type }, site }: Exchange): boolean {
  if (caller === undefined) return true
  return type === undefined ? isWholeTenant(caller.access, 'r') : isWholeType(caller.access, type, 'r', site.reading(caller.tenant))
}
