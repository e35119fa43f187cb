/** Writes that the index does not have yet count in a match, with the index of conditional interactions. */
import { describe, expect, it } from '@jest/globals'
import { validate } from '../../lambdas/fhir/validate/validate.ts'
import { recentWritesIndex } from '../../lambdas/interactions/consistency/recent-writes-index.ts'
import { deniesPayers } from '../../lambdas/partners/consent/permitted-members.ts'
import { findMember } from '../../lambdas/partners/match/find-member.ts'
import { memberInputOf } from '../../lambdas/partners/match/member-input.ts'
import type { MemberData } from '../../lambdas/partners/member-data.ts'
import type { RecentWrites } from '../../lambdas/ports/store/recent-writes.ts'
import { EXPRESSIONS } from '../fixtures/expressions.ts'
import { matchExample } from '../fixtures/payer/match-examples.ts'
import { patient, referenceTo, type Tree } from '../fixtures/resources.ts'
import { coverageOf, matchRequestOf, memberStoreOf } from './member-store.ts'

const NOW = Date.parse('2026-01-15T12:00:00Z')
const PERSON = { name: [{ family: 'Person', given: ['Ann'] }], birthDate: '1974-12-25', gender: 'female' }

/** `written`: resources that only the store has. */
async function storeOf(indexed: readonly Tree[], written: readonly Tree[]): Promise<MemberData> {
  const { index } = await memberStoreOf(indexed)
  const data = await memberStoreOf([...indexed, ...written])
  const resources: RecentWrites = {
    async *recent({ tenant, type }) {
      const own = written.filter(({ resourceType }) => resourceType === type)
      for (const head of await data.heads(own.map(({ id }) => ({ tenant, type: type!, id }))))
        if (head !== undefined && !('damage' in head)) yield head
    },
  }
  const clock = { now: () => NOW, newId: () => 'id' }
  const parts = { resources, clock, expressions: EXPRESSIONS, reading: () => data.reading, maxVersions: 2_000 }
  return { ...data, index: recentWritesIndex({ ...parts, index }) }
}

describe('a write that the index does not have yet', () => {
  const member = patient('1', PERSON)
  const coverage = coverageOf('c', '1')
  const found = async (data: MemberData): Promise<string> => {
    const body = matchRequestOf({ MemberPatient: { resourceType: 'Patient', ...PERSON }, CoverageToMatch: coverageOf('sent', '1') })
    return (
      await findMember(data, (await memberInputOf(body, { needsConsent: false, structureIssuesOf: (each) => validate(each) })).person)
    ).kind
  }

  it('is found as a Coverage', async () => expect(await found(await storeOf([member], [coverage]))).toBe('match'))

  it('counts as a second Coverage of another record', async () => {
    const second = [patient('2', PERSON), coverageOf('d', '2', { identifier: coverage.identifier })]
    expect([await found(await storeOf([member, coverage], [])), await found(await storeOf([member, coverage], second))]).toEqual([
      'match',
      'several',
    ])
  })

  it('counts as a denial', async () => {
    const denial = { ...matchExample('no-consent-1'), patient: referenceTo('Patient/1'), category: [{ text: 'x' }] }
    expect([await deniesPayers(await storeOf([], []), '1', NOW), await deniesPayers(await storeOf([], [denial]), '1', NOW)]).toEqual([
      false,
      true,
    ])
  })
})
