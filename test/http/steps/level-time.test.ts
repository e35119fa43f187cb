/** Who may not see all of a type hears "not found" at a full multiple of 20 ms. */
import { describe, expect, it } from '@jest/globals'
import middy from '@middy/core'
import { type Access, WHOLE_ACCESS } from '../../../lambdas/access/access.ts'
import { fhirError } from '../../../lambdas/fhir/outcome.ts'
import type { Exchange, HttpResponse } from '../../../lambdas/http/exchange.ts'
import { describeErrors } from '../../../lambdas/http/steps/describe-errors.ts'
import { levelResponseTime } from '../../../lambdas/http/steps/level-time.ts'
import type { FhirResponse } from '../../../lambdas/interactions/interaction.ts'

const OF_ONE: Access = {
  clauses: [{ type: '*', letters: ['r'], query: '', within: ['Patient/1'] }],
  isAdministrator: false,
  context: 'patient',
}
const OF_OBSERVATIONS: Access = { clauses: [{ type: 'Observation', letters: ['r'], query: '' }], isAdministrator: false, context: 'system' }

/** What an answer that took `taken` ms waits. */
async function waited(access: Access | undefined, taken: number, status: number, type = 'Observation'): Promise<readonly number[]> {
  const waits: number[] = []
  let now = 5.4
  const wait = async (time: number) => void waits.push(time)
  const exchange = {
    ...{
      http: { path: `/${type}/1`, headers: {} },
      interaction: 'read',
      fhir: { type },
      site: { baseUrl: 'http://a', reading: () => ({}) },
    },
    ...{ caller: access === undefined ? undefined : { tenant: 'default', client: 'c', access } },
  } as unknown as Exchange
  const answer = async (): Promise<FhirResponse> => {
    now += taken
    if (status >= 400) throw fhirError(status, 'not-found', 'no')
    return { status }
  }
  const handler = middy<Exchange, FhirResponse | HttpResponse>(answer)
  handler.use(levelResponseTime({ now: () => now, wait })).use(describeErrors(() => undefined))
  expect(await handler(exchange, {} as never)).toMatchObject({ status })
  return waits
}

describe('a missing resource', () => {
  it.each([
    [0.2, 20],
    [0.25, 20],
    [6.9, 14],
    [19.9, 1],
    [20.1, 20],
    [47, 13],
  ])('is reported after %d ms plus %d ms to a client with partial access', async (taken, wait) =>
    expect(await waited(OF_ONE, taken, 404)).toEqual([wait]),
  )

  it('is reported at once for full access, as is a found resource to every client', async () => {
    expect(await waited(WHOLE_ACCESS, 1, 404)).toEqual([])
    expect(await waited(OF_OBSERVATIONS, 1, 404)).toEqual([])
    expect(await waited(OF_OBSERVATIONS, 1, 404, 'Binary')).toEqual([19])
    expect(await waited(undefined, 1, 404)).toEqual([])
    for (const status of [200, 304, 403, 410]) expect(await waited(OF_ONE, 1, status)).toEqual([])
  })
})
