/** Response times of `$member-match`. */
import { expect, it } from '@jest/globals'
import { fhirError } from '../../../lambdas/fhir/outcome.ts'
import type { FhirRequest, FhirResponse } from '../../../lambdas/interactions/interaction.ts'
import { levelMatch } from '../../../lambdas/interactions/operations/level-match.ts'
import { SetClock } from '../../fixtures/set-clock.ts'

const REQUEST = {} as FhirRequest

/** Returns the milliseconds after which a match is answered that takes `taken`. */
async function answeredAfter(taken: number, outcome: () => FhirResponse): Promise<number> {
  const clock = new SetClock('2026-01-01T00:00:00Z')
  const wait = async (ms: number): Promise<void> => clock.pass(ms)
  const match = async () => {
    clock.pass(taken)
    return outcome()
  }
  const start = clock.steady()
  await levelMatch(match, { now: clock.steady, wait })(REQUEST).catch(() => undefined)
  return clock.steady() - start
}

const refuse = (status: number) => () => {
  throw fhirError(status, 'not-found', 'No member was matched')
}

it.each([
  [1, 1_000],
  [999, 1_000],
  [1_000, 1_000],
  [1_001, 2_000],
  [3_400, 4_000],
])('422 that takes %d ms is sent after %d ms', async (taken, sent) => {
  expect(await answeredAfter(taken, refuse(422))).toBe(sent)
})

it('422 is never sent before a full multiple, whatever fraction of a millisecond the match takes', async () => {
  for (const taken of [0.25, 999.75, 1_000.25]) expect((await answeredAfter(taken, refuse(422))) % 1_000).toBeLessThan(1)
})

it('a match, and other errors, are sent at once', async () => {
  expect([await answeredAfter(7, () => ({ status: 200 })), await answeredAfter(7, refuse(403))]).toEqual([7, 7])
})
