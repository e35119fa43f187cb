/** The stored form of the index state: what other releases wrote stays readable, and survives a change. */
import { describe, expect, it } from '@jest/globals'
import { addIndices, markLost } from '../../../lambdas/indexing/lifecycle/serving-indices.ts'
import { decode, encode, NO_STORED_STATE, type StoredState } from '../../../lambdas/indexing/lifecycle/stored-state.ts'
import { memoryIndexState, memoryStoredState } from '../../fixtures/memory-index-state.ts'

const STORED: StoredState = {
  ...NO_STORED_STATE,
  live: { identity: 'b', types: { Patient: 'b', Basic: 'a' }, lacking: ['Patient'], former: ['a'], epoch: 1, ahead: ['Basic'] },
  ...{ store: 'table', extraction: '2', setBackAt: 7, worker: { execution: 'e', at: 8 } },
  behind: { Basic: { extraction: '1', since: 5 } },
  kept: { Basic: { extraction: '1', since: 5, index: 'v1', at: 6, epoch: 0 } },
  setBack: { former: 'before', since: 1, at: 7, reached: { Basic: { tenant: 't', share: 0.5 } } },
}

describe('the stored state', () => {
  it('has one record for each type in memory', () => {
    expect(decode(STORED).types).toEqual({
      Patient: { identity: 'b', lost: true },
      Basic: {
        identity: 'a',
        unreconciled: true,
        reached: { tenant: 't', share: 0.5 },
        outdated: STORED.behind!.Basic,
        previous: STORED.kept!.Basic,
      },
    })
  })

  it('is the same text after it was read and written', () => {
    const { live, behind, kept, setBack, ...rest } = STORED
    expect(JSON.parse(JSON.stringify(encode(decode(STORED))))).toEqual(STORED)
    expect(JSON.parse(JSON.stringify(encode(decode(rest))))).toEqual({ ...rest, behind: {}, kept: {} })
  })

  it('retains fields of a later release through a change', async () => {
    const live = { ...STORED.live!, laterToo: 'field' }
    const stored = memoryStoredState({ ...STORED, live, later: 'field' } as StoredState)
    await memoryIndexState(stored).change((state) => addIndices(state, ['Observation'], 'b'))
    expect(stored.stored()).toMatchObject({ later: 'field', live: { laterToo: 'field', types: { Observation: 'b' } } })
  })

  it('is not written if nothing changes', async () => {
    const stored = memoryStoredState(STORED)
    await memoryIndexState(stored).change((state) => markLost(state, { Patient: 'a' }, 'c'))
    expect(await stored.root()).toMatchObject({ number: 0, value: STORED })
  })
})
