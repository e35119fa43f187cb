/** Between two stages of a search stand at most 65,536 resources: one more and it is refused, never silently incomplete. */
import { describe, expect, it } from '@jest/globals'
import { FhirError } from '../../lambdas/fhir/outcome.ts'
import { type Condition, resolved } from '../../lambdas/search/condition.ts'
import type { Matching } from '../../lambdas/search/plan.ts'

const MOST = 65_536

/** An index in which so many resources match whatever is asked. */
const indexOf = (count: number) => ({
  distinct: async (_matching: Matching, field: string, limit: number) =>
    Array.from({ length: Math.min(count, limit) }, (_, i) => (field === '_id:code' ? `${i}` : `Patient/${i}`)),
})

const INNER: Condition = { kind: 'present', field: 'name' }
const CHAIN: Condition = { kind: 'refers', field: 'subject', to: [{ type: 'Patient', where: INNER }] }
const REVERSE: Condition = { kind: 'referredBy', type: 'Patient', by: 'Observation', field: 'subject', where: INNER }

describe.each<[string, Condition]>([
  ['a chain', CHAIN],
  ['a reverse chain', REVERSE],
])('%s', (_, condition) => {
  it('goes through 65,536 resources', async () => {
    const predicate = await resolved([condition], 't', indexOf(MOST))
    expect(predicate.kind === 'key' && predicate.oneOf.length).toBe(MOST)
  })
  it('through more is 403', async () => {
    const error = await resolved([condition], 't', indexOf(MOST + 1)).catch((thrown) => thrown)
    expect(error).toBeInstanceOf(FhirError)
    expect([error.status, error.issues[0].code]).toEqual([403, 'too-costly'])
  })
})
