/** What the state says about which index answers for a type: nobody's news of an index that no longer counts changes anything. */
import { describe, expect, it } from '@jest/globals'
import { resourceTypes } from '../../lambdas/fhir/resource-types.ts'
import { NO_STATE, rebuildsOfAttempt, takeRebuilds } from '../../lambdas/indexing/index-state.ts'
import { addIndices, type IdentifiedState, markLost, markServing, withIdentity } from '../../lambdas/indexing/serving-indices.ts'

const FIRST = withIdentity(NO_STATE, 'a')
const BEGUN = addIndices(FIRST, ['Patient', 'Basic'], 'a')
const LOST = markLost(BEGUN, { Patient: 'a' }, 'b')
const wanted = ({ rebuilds }: IdentifiedState) => rebuilds.map(({ type, tenant }) => `${tenant}${type}`)

describe('which index answers', () => {
  it('has an identity from the first deployment on, and keeps it', () => {
    expect(FIRST.live).toMatchObject({ identity: 'a', types: {}, lacking: [] })
    expect(wanted(FIRST)).toEqual([])
    expect(withIdentity(FIRST, 'b')).toBe(FIRST)
  })

  it('of a stage that had none yet is made again: all types lack theirs', () => {
    const { live, rebuilds } = withIdentity({ ...NO_STATE, extraction: '1' }, 'a')
    expect([live.lacking, rebuilds.map(({ type }) => type).toSorted()]).toEqual([resourceTypes, resourceTypes.toSorted()])
  })

  it('is told once that a type has one', () => {
    expect(BEGUN.live.types).toEqual({ Patient: 'a', Basic: 'a' })
    expect(addIndices(BEGUN, ['Patient'], 'b')).toBe(BEGUN)
  })

  it('that was missed is wanted under another identity, which types to come get, too', () => {
    expect(LOST.live).toEqual({ identity: 'b', types: { Patient: 'b', Basic: 'a' }, lacking: ['Patient'], former: ['a'] })
    expect(wanted(LOST)).toEqual(['Patient'])
  })

  it('is not missed by an identity nobody goes by, nor while it is made again, nor where there never was one', () => {
    for (const missing of [{ Patient: 'a' }, { Patient: 'b' }, { Basic: 'b' }, { Observation: 'a' }, { Observation: 'b' }])
      expect(markLost(LOST, missing, 'c')).toBe(LOST)
  })

  it('is whole when the one that is wanted is', () => {
    expect(markServing(LOST, 'Patient', 'a')).toBe(LOST)
    const made = markServing(LOST, 'Patient', 'b') as IdentifiedState
    expect([made.live.lacking, made.live.types.Patient]).toEqual([[], 'b'])
    expect(markServing(made, 'Patient', 'b')).toBe(made)
    expect(markLost(made, { Patient: 'b' }, 'c').live).toMatchObject({ lacking: ['Patient'], types: { Patient: 'c' }, former: ['a', 'b'] })
  })

  it('that was missed takes from who is at it whatever is wanted of its type', () => {
    const busy = takeRebuilds({ ...LOST, rebuilds: [...LOST.rebuilds, { tenant: 'one', type: 'Patient', done: 0, total: -1 }] }, 'x', 1)
    const attempt = busy.rebuilds[0]!.taken!
    expect(rebuildsOfAttempt(busy, attempt)).toHaveLength(2)
    const made = markServing(busy, 'Patient', 'b') as IdentifiedState
    expect(rebuildsOfAttempt(markLost(made, { Patient: 'b' }, 'c'), attempt)).toEqual([])
  })

  it('remembers a few of the identities it had', () => {
    let state = BEGUN
    for (let i = 0; i < 50; i++)
      state = markLost(markServing(state, 'Basic', `${i}`) as IdentifiedState, { Basic: i === 0 ? 'a' : `${i}` }, `${i + 1}`)
    expect(state.live.former).toHaveLength(20)
    expect(state.live.former.at(-1)).toBe('49')
  })
})
