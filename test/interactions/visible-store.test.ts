/** The store as a caller sees it. */
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { WHOLE_ACCESS } from '../../lambdas/access/access.ts'
import { type CallerAccess, visibleStoreOf } from '../../lambdas/interactions/visible-store.ts'
import type { ResourceVersion } from '../../lambdas/ports/store/resource-store.ts'
import { EXPRESSIONS } from '../fixtures/expressions.ts'
import { observation } from '../fixtures/resources.ts'
import { countTurnsDuring, waitTurns } from '../fixtures/turns.ts'
import { resourceKeyOf, versionOf, writeOf } from '../fixtures/versions.ts'

const VERSIONS = 10

let now = 0
beforeEach(async () => {
  // Wait until the slice of an earlier test has ended.
  await waitTurns(3)
  jest.spyOn(performance, 'now').mockImplementation(() => now)
})
afterEach(() => void jest.restoreAllMocks())

/** Returns a version whose body takes longer than a slice to be examined. */
function slowVersionOf(i: number): ResourceVersion {
  const body = observation(`o${i}`, { subject: 'Patient/ann', date: '2026-01-01' })
  const version = versionOf(writeOf(resourceKeyOf('t', 'Observation', `o${i}`), { body, compartments: ['Patient/ann'] }))
  return Object.defineProperty({ ...version }, 'body', {
    get: () => {
      now += 25
      return version.body
    },
  })
}

/** Returns the stored versions as a caller sees them. */
function seenBy(caller: Pick<CallerAccess, 'access' | 'showsNone'>, stored: readonly ResourceVersion[]) {
  const read = async () => stored
  const store = { current: read, versions: read, history: () => Promise.reject(new Error('no history was expected')) }
  return visibleStoreOf(store, () => EXPRESSIONS)({ ...caller, reading: { baseUrl: 'http://x' } }, 'r').versions([])
}

const LIMITS = { partner: { kind: 'payer', identifiers: [] } as const, exported: [], operations: [], limits: { at: 0, excluded: ['s|c'] } }

it.each<readonly [what: string, caller: Pick<CallerAccess, 'access' | 'showsNone'>]>([
  ['a condition of a scope', { access: { ...WHOLE_ACCESS, clauses: [{ type: 'Observation', letters: ['r'], query: 'status=final' }] } }],
  ['a view', { access: { ...WHOLE_ACCESS, view: 'payer' } }],
  ['the limits of a partner', { access: { ...WHOLE_ACCESS, view: 'payer', partner: LIMITS }, showsNone: true }],
])('yields between versions that are examined for %s', async (_, caller) => {
  const versions = Array.from({ length: VERSIONS }, (_, i) => slowVersionOf(i))
  let shown: readonly unknown[] = []
  const turns = await countTurnsDuring(async () => {
    shown = await seenBy(caller, versions)
  })
  expect(shown).toEqual(versions)
  expect(turns).toBeGreaterThanOrEqual(VERSIONS - 2)
})

describe('a store of versions for no response', () => {
  const claimOf = (type: string) => {
    const body = { resourceType: type, id: 'c', use: 'claim', total: [{ amount: { value: 5, currency: 'USD' } }] }
    return versionOf(writeOf(resourceKeyOf('t', type, 'c'), { body, compartments: ['Patient/ann'] }))
  }
  const readAs = (type: string, caller: Pick<CallerAccess, 'showsNone'>) =>
    seenBy({ access: { ...WHOLE_ACCESS, view: 'payer' }, ...caller }, [claimOf(type)])

  it('keeps the amounts that the view removes', async () => {
    expect(await readAs('ExplanationOfBenefit', { showsNone: true })).toEqual([claimOf('ExplanationOfBenefit')])
    const [shown] = await readAs('ExplanationOfBenefit', {})
    expect(Buffer.from(shown!.body).toString()).not.toContain('USD')
  })

  it('hides the types that the view hides', async () => expect(await readAs('Claim', { showsNone: true })).toEqual([undefined]))
})
