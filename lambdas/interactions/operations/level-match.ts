/**
 * Prevents the response time of `$member-match` from revealing why no member was matched: a stranger, several members, or a denial. Sends
 * 422 at a multiple of a second after the start of the request.
 */
import { FhirError } from '../../fhir/outcome.ts'
import type { Interaction } from '../interaction.ts'

/** Interval of the responses 422, in milliseconds. Finding a denial takes less, even in an opt-out Group of 200,000 members. */
const SLOT = 1_000

/** Clock and pause. `wait`: in milliseconds. */
export type MatchTimer = { readonly now: () => number; readonly wait: (time: number) => Promise<unknown> }

const REAL: MatchTimer = { now: () => performance.now(), wait: (time) => new Promise((resolve) => setTimeout(resolve, time)) }

export const levelMatch =
  (match: Interaction, { now, wait }: MatchTimer = REAL): Interaction =>
  async (request) => {
    const since = now()
    try {
      return await match(request)
    } catch (error) {
      // guard: unmatched-members-take-equal-time
      if (error instanceof FhirError && error.status === 422) {
        const taken = now() - since
        // Round up, so that fractions of a millisecond reveal nothing either.
        await wait(Math.ceil(Math.ceil(taken / SLOT) * SLOT - taken))
      }
      throw error
    }
  }
