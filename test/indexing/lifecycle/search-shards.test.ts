/** Another number of shards requests a new index of the type, once. */
import { describe, expect, it } from '@jest/globals'
import { finishAttempt, rebuildsOfAttempt, requestNewIndices, takeRebuilds } from '../../../lambdas/indexing/lifecycle/rebuild-queue.ts'
import { changeShards } from '../../../lambdas/indexing/lifecycle/search-shards.ts'
import { addIndices, withIdentity } from '../../../lambdas/indexing/lifecycle/serving-indices.ts'
import { type IndexState, withTypes } from '../../../lambdas/indexing/lifecycle/state.ts'
import { decode, encode, NO_STATE } from '../../../lambdas/indexing/lifecycle/stored-state.ts'

const SERVING = addIndices({ ...withIdentity(NO_STATE, 'a'), extraction: 'f2' }, ['Observation', 'Patient'], 'a')
const TAKING = { execution: 'e', width: 2, steps: 10 }
const wanted = ({ rebuilds }: IndexState) => rebuilds.map(({ type, tenant, inPlace }) => [type, tenant, inPlace])
const built = (state: IndexState): IndexState => {
  const taken = takeRebuilds(state, TAKING, 1)
  const [first] = taken.rebuilds
  return taken.rebuilds.reduce((each, { type }) => finishAttempt(each, first!.taken!, type), taken)
}

describe('A changed number of shards', () => {
  it('requests a new index of the type for all tenants, once', () => {
    const changed = changeShards(SERVING, { Observation: 12, Patient: 1 })
    expect([wanted(changed), changed.shards]).toEqual([[['Observation', '', undefined]], { Observation: 12 }])
    expect(changeShards(changed, { Observation: 12 })).toBe(changed)
    const done = built(changed)
    expect([wanted(done), changeShards(done, { Observation: 12, Patient: 1 })]).toEqual([[], done])
  })

  it('may be lower, or no longer set', () => {
    const several = built(changeShards(SERVING, { Observation: 12, Patient: 3 }))
    const fewer = changeShards(several, { Observation: 11 })
    expect([wanted(fewer).map(([type]) => type), fewer.shards]).toEqual([['Observation', 'Patient'], { Observation: 11 }])
  })

  it('requests nothing for a type without an index, which gets its shards with the first document', () => {
    const changed = changeShards(SERVING, { Basic: 2 })
    expect([wanted(changed), changed.shards]).toEqual([[], { Basic: 2 }])
  })

  it('is not found without the setting, or if the setting names the default', () => {
    expect(changeShards(SERVING, {})).toBe(SERVING)
    expect(changeShards(SERVING, { Observation: 1 })).toBe(SERVING)
  })

  it('restarts a rebuild that fills an index with the previous number', () => {
    const taken = takeRebuilds(requestNewIndices(SERVING, ['Observation']), TAKING, 1)
    expect(rebuildsOfAttempt(changeShards(taken, { Observation: 2 }), 'e~1~0')).toEqual([])
  })

  it.each([
    ['lacks versions', { outdated: { extraction: 'f2', since: 1 } }],
    [
      'may get its previous index again',
      { outdated: { extraction: 'f1', since: 1 }, previous: { extraction: 'f2', since: 1, index: 'p', at: 1, epoch: 0 } },
    ],
  ])('waits for the next deployment while the index %s', (_, record) => {
    const outdated = withTypes(SERVING, ['Observation'], (index) => ({ ...index, ...record }))
    expect(changeShards(outdated, { Observation: 2 })).toBe(outdated)
    const both = changeShards(outdated, { Observation: 2, Patient: 2 })
    expect([wanted(both).map(([type]) => type), both.shards]).toEqual([['Patient'], { Patient: 2 }])
  })

  it('is stored, and another release stores it again', () => {
    const changed = changeShards(SERVING, { Observation: 12 })
    expect(encode(decode(JSON.parse(JSON.stringify(encode(changed))))).shards).toEqual({ Observation: 12 })
  })
})
