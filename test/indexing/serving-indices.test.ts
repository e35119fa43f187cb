/** What the state says about which index answers for a type: nobody's news of an index that no longer counts changes anything. */
import { describe, expect, it } from '@jest/globals'
import { resourceTypes } from '../../lambdas/fhir/resource-types.ts'
import { NO_STATE, taken, takenBy } from '../../lambdas/indexing/index-state.ts'
import { begun, type Identified, identified, lost, whole } from '../../lambdas/indexing/serving-indices.ts'

const FIRST = identified(NO_STATE, 'a')
const BEGUN = begun(FIRST, ['Patient', 'Basic'], 'a')
const LOST = lost(BEGUN, { Patient: 'a' }, 'b')
const wanted = ({ rebuilds }: Identified) => rebuilds.map(({ type, tenant }) => `${tenant}${type}`)

describe('which index answers', () => {
  it('has an identity from the first deployment on, and keeps it', () => {
    expect(FIRST.live).toMatchObject({ identity: 'a', types: {}, lacking: [] })
    expect(wanted(FIRST)).toEqual([])
    expect(identified(FIRST, 'b')).toBe(FIRST)
  })

  it('of a stage that had none yet is made again: all types lack theirs', () => {
    const { live, rebuilds } = identified({ ...NO_STATE, extraction: '1' }, 'a')
    expect([live.lacking, rebuilds.map(({ type }) => type).toSorted()]).toEqual([resourceTypes, resourceTypes.toSorted()])
  })

  it('is told once that a type has one', () => {
    expect(BEGUN.live.types).toEqual({ Patient: 'a', Basic: 'a' })
    expect(begun(BEGUN, ['Patient'], 'b')).toBe(BEGUN)
  })

  it('that was missed is wanted under another identity, which types to come get, too', () => {
    expect(LOST.live).toEqual({ identity: 'b', types: { Patient: 'b', Basic: 'a' }, lacking: ['Patient'], former: ['a'] })
    expect(wanted(LOST)).toEqual(['Patient'])
  })

  it('is not missed by an identity nobody goes by, nor while it is made again, nor where there never was one', () => {
    for (const missing of [{ Patient: 'a' }, { Patient: 'b' }, { Basic: 'b' }, { Observation: 'a' }, { Observation: 'b' }])
      expect(lost(LOST, missing, 'c')).toBe(LOST)
  })

  it('is whole when the one that is wanted is', () => {
    expect(whole(LOST, 'Patient', 'a')).toBe(LOST)
    const made = whole(LOST, 'Patient', 'b') as Identified
    expect([made.live.lacking, made.live.types.Patient]).toEqual([[], 'b'])
    expect(whole(made, 'Patient', 'b')).toBe(made)
    expect(lost(made, { Patient: 'b' }, 'c').live).toMatchObject({ lacking: ['Patient'], types: { Patient: 'c' }, former: ['a', 'b'] })
  })

  it('that was missed takes from who is at it whatever is wanted of its type', () => {
    const busy = taken({ ...LOST, rebuilds: [...LOST.rebuilds, { tenant: 'one', type: 'Patient', done: 0, total: -1 }] }, 'x', 1)
    const attempt = busy.rebuilds[0]!.taken!
    expect(takenBy(busy, attempt)).toHaveLength(2)
    const made = whole(busy, 'Patient', 'b') as Identified
    expect(takenBy(lost(made, { Patient: 'b' }, 'c'), attempt)).toEqual([])
  })

  it('remembers a few of the identities it had', () => {
    let state = BEGUN
    for (let i = 0; i < 50; i++) state = lost(whole(state, 'Basic', `${i}`) as Identified, { Basic: i === 0 ? 'a' : `${i}` }, `${i + 1}`)
    expect(state.live.former).toHaveLength(20)
    expect(state.live.former.at(-1)).toBe('49')
  })
})
