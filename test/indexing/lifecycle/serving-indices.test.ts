/** The serving index of each type: reports about an index that no longer serves change nothing. */
import { describe, expect, it } from '@jest/globals'
import { resourceTypes } from '../../../lambdas/fhir/resource-types.ts'
import { rebuildsOfAttempt, takeRebuilds } from '../../../lambdas/indexing/lifecycle/rebuild-queue.ts'
import { addIndices, markHeartbeats, markLost, markServing, withIdentity } from '../../../lambdas/indexing/lifecycle/serving-indices.ts'
import type { IndexState } from '../../../lambdas/indexing/lifecycle/state.ts'
import { statusOf } from '../../../lambdas/indexing/lifecycle/status.ts'
import { decode, encode, NO_STATE } from '../../../lambdas/indexing/lifecycle/stored-state.ts'

const liveOf = (state: IndexState) => encode(state).live!
const FIRST = withIdentity(NO_STATE, 'a')
const BEGUN = addIndices(FIRST, ['Patient', 'Basic'], 'a')
const LOST = markLost(BEGUN, { Patient: 'a' }, 'b')
const wanted = ({ rebuilds }: IndexState) => rebuilds.map(({ type, tenant }) => `${tenant}${type}`)

const TAKING = { execution: 'x', width: 2, steps: 10 }

describe('the serving index', () => {
  it('has an identity from the first deployment on, and keeps it', () => {
    expect(liveOf(FIRST)).toMatchObject({ identity: 'a', types: {}, lacking: [] })
    expect(wanted(FIRST)).toEqual([])
    expect(withIdentity(FIRST, 'b')).toBe(FIRST)
  })

  it('is rebuilt for a stage without one: all types count as lost', () => {
    const { live, rebuilds } = encode(withIdentity({ ...NO_STATE, extraction: '1' }, 'a'))
    expect([live!.lacking, rebuilds.map(({ type }) => type).toSorted()]).toEqual([resourceTypes, resourceTypes.toSorted()])
  })

  it('is recorded once per type', () => {
    expect(liveOf(BEGUN).types).toEqual({ Patient: 'a', Basic: 'a' })
    expect(addIndices(BEGUN, ['Patient'], 'b')).toBe(BEGUN)
  })

  it('is wanted under another identity after a loss, also for later types', () => {
    expect(liveOf(LOST)).toEqual({ identity: 'b', types: { Patient: 'b', Basic: 'a' }, lacking: ['Patient'], former: ['a'] })
    expect(wanted(LOST)).toEqual(['Patient'])
  })

  it('is not lost under an unknown identity, during a rebuild, or if it never existed', () => {
    for (const missing of [{ Patient: 'a' }, { Patient: 'b' }, { Basic: 'b' }, { Observation: 'a' }, { Observation: 'b' }])
      expect(markLost(LOST, missing, 'c')).toBe(LOST)
  })

  it('is complete only once the wanted one is', () => {
    expect(markServing(LOST, 'Patient', 'a')).toBe(LOST)
    const made = markServing(LOST, 'Patient', 'b')
    expect([liveOf(made).lacking, liveOf(made).types.Patient]).toEqual([[], 'b'])
    expect(markServing(made, 'Patient', 'b')).toBe(made)
    expect(liveOf(markLost(made, { Patient: 'b' }, 'c'))).toMatchObject({
      lacking: ['Patient'],
      types: { Patient: 'c' },
      former: ['a', 'b'],
    })
  })

  it('takes all rebuilds of its type from the worker if it is lost', () => {
    const busy = takeRebuilds({ ...LOST, rebuilds: [...LOST.rebuilds, { tenant: 'one', type: 'Patient', done: 0, total: -1 }] }, TAKING, 1)
    const attempt = busy.rebuilds[0]!.taken!
    expect(rebuildsOfAttempt(busy, attempt)).toHaveLength(2)
    const made = markServing(busy, 'Patient', 'b')
    expect(rebuildsOfAttempt(markLost(made, { Patient: 'b' }, 'c'), attempt)).toEqual([])
  })

  it('remembers a few of its earlier identities', () => {
    let state = BEGUN
    for (let i = 0; i < 50; i++) state = markLost(markServing(state, 'Basic', `${i}`), { Basic: i === 0 ? 'a' : `${i}` }, `${i + 1}`)
    expect(liveOf(state).former).toHaveLength(20)
    expect(liveOf(state).former.at(-1)).toBe('49')
  })
})

it('the status reports heartbeats that do not cover the stream, until they do', () => {
  const uncovered = decode(encode(markHeartbeats(BEGUN, true)))
  expect([markHeartbeats(BEGUN, false), markHeartbeats(uncovered, true)]).toEqual([BEGUN, uncovered])
  expect([BEGUN, uncovered, markHeartbeats(uncovered, false)].map((state) => statusOf(state, 't').uncovered)).toEqual([
    undefined,
    true,
    undefined,
  ])
})
