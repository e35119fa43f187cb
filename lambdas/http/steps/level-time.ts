/**
 * What is hidden is not told from what is not there by how long the answer takes: to who may not see all of a type, "not found" comes at a full
 * multiple of 20 ms. https://www.rfc-editor.org/rfc/rfc9110#section-17.3
 */
import { isWholeTenant, isWholeType } from '../../access/rules.ts'
import type { Exchange, Step } from '../exchange.ts'

/** Longer than it takes to read and to judge most of what is hidden: ms. */
const SLOT = 20

export type Timer = { readonly now: () => number; readonly wait: (time: number) => Promise<unknown> }

const REAL: Timer = { now: () => performance.now(), wait: (time) => new Promise((resolve) => setTimeout(resolve, time)) }

export function levelResponseTime({ now, wait }: Timer = REAL): Step {
  const begun = new WeakMap<Exchange, number>()
  const level: NonNullable<Step['after']> = async ({ event, response }) => {
    const since = begun.get(event)
    if (since === undefined || response?.status !== 404 || seesAll(event)) return
    const taken = now() - since
    // Rounded up, so that parts of a millisecond are not told either.
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

/** Nothing of the type is hidden. Nobody without a caller was told of a resource. */
function seesAll({ caller, fhir: { type }, site }: Exchange): boolean {
  if (caller === undefined) return true
  return type === undefined ? isWholeTenant(caller.access, 'r') : isWholeType(caller.access, type, 'r', site.reading(caller.tenant))
}
