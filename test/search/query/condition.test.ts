/**
 * Between two stages of a search stand at most 65,536 resources, and four times as many between all: one more and it is refused, never
 * silently incomplete.
 */
import { describe, expect, it, jest } from '@jest/globals'
import { FhirError } from '../../../lambdas/fhir/outcome.ts'
import type { Matching } from '../../../lambdas/ports/search/plan.ts'
import { type Condition, resolveChains, unrestrictedSearchAccess } from '../../../lambdas/search/query/condition.ts'
import { fault } from '../../fixtures/machine-fault.ts'

const MOST = 65_536

/** An index in which so many resources match whatever is asked. */
const indexOf = (count: number) => ({
  distinct: async (_matching: Matching, field: string, limit: number) =>
    Array.from({ length: Math.min(count, limit) }, (_, i) => (field === '_id:code' ? `${i}` : `Patient/${i}`)),
})

const INNER: Condition = { kind: 'present', field: 'name' }
const CHAIN: Condition = { kind: 'refers', field: 'subject', byCanonical: false, to: [{ type: 'Patient', where: INNER }] }
const REVERSE: Condition = { kind: 'referredBy', type: 'Patient', by: 'Observation', field: 'subject', byCanonical: false, where: INNER }

describe.each<[string, Condition]>([
  ['a chain', CHAIN],
  ['a reverse chain', REVERSE],
])('%s', (_, condition) => {
  it('may pass through 65,536 resources', async () => {
    const predicate = await resolveChains([condition], unrestrictedSearchAccess('t'), indexOf(MOST))
    expect(predicate.kind === 'key' && predicate.oneOf.length).toBe(MOST)
  })
  it('is 403 for one resource more', async () => {
    const error = await resolveChains([condition], unrestrictedSearchAccess('t'), indexOf(MOST + 1)).catch((thrown) => thrown)
    expect(error).toBeInstanceOf(FhirError)
    expect([error.status, error.issues[0].code]).toEqual([403, 'too-costly'])
  })
  it('is allowed in four criteria of that size, and is 403 in five', async () => {
    const times = (count: number) => Array.from({ length: count }, () => condition)
    expect((await resolveChains(times(4), unrestrictedSearchAccess('t'), indexOf(MOST))).kind).toBe('all')
    await expect(resolveChains(times(5), unrestrictedSearchAccess('t'), indexOf(MOST))).rejects.toMatchObject({
      status: 403,
      issues: [{ code: 'too-costly' }],
    })
  })
  it('is stopped after twenty seconds in hundreds of criteria', async () => {
    let [asked, seconds] = [0, 0]
    const now = jest.spyOn(performance, 'now').mockImplementation(() => seconds * 1_000)
    const slow = async (): Promise<readonly string[]> => {
      asked++
      seconds += 7
      return []
    }
    const criteria = Array.from({ length: 200 }, () => condition)
    await expect(resolveChains(criteria, unrestrictedSearchAccess('t'), { distinct: slow })).rejects.toThrow(fault('too-costly'))
    now.mockRestore()
    expect(asked).toBe(3)
  })
})
