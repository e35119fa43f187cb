/** Unindexable versions: a failed version is listed until the same or a later version is read. */
import { describe, expect, it } from '@jest/globals'
import { clearUnindexable, recordUnindexable } from '../../../lambdas/indexing/lifecycle/definitions.ts'
import type { IndexState } from '../../../lambdas/indexing/lifecycle/state.ts'
import { statusOf } from '../../../lambdas/indexing/lifecycle/status.ts'
import { NO_STATE } from '../../../lambdas/indexing/lifecycle/stored-state.ts'
import { UnindexableVersions } from '../../../lambdas/indexing/stream/unindexable-versions.ts'
import type { VersionedValue } from '../../../lambdas/ports/rows/shared-state.ts'
import type { ResourceVersion } from '../../../lambdas/ports/store/resource-store.ts'

const version = (versionId: number, key: Partial<ResourceVersion> = {}): ResourceVersion => ({
  ...{ tenant: 'a', type: 'Patient', id: 'p', versionId, lastUpdated: 1, deleted: false, compartments: [], body: new Uint8Array() },
  ...key,
})

/** `meanwhile` runs during each change. */
function shared(meanwhile = () => {}) {
  let kept: VersionedValue<IndexState> = { number: 0, value: NO_STATE }
  return {
    names: () => kept.value.poisoned.map(({ id, versionId, reason }) => `${id} ${versionId} ${reason}`),
    change: async (change: (state: IndexState) => IndexState) => {
      kept = { number: kept.number + 1, value: change(kept.value) }
      meanwhile()
      return kept
    },
  }
}

describe('An unindexable version', () => {
  const listed = (...read: readonly ResourceVersion[]) =>
    read.reduce(clearUnindexable, recordUnindexable(NO_STATE, version(2), 'TypeError')).poisoned

  it('is listed until the same or a later version is read', () => {
    expect(listed()).toMatchObject([{ id: 'p', versionId: 2, reason: 'TypeError' }])
    expect(listed(version(2))).toEqual([])
    expect(listed(version(3))).toEqual([])
  })

  it('stays listed when an older one is read, or another resource', () => {
    for (const other of [version(1), version(2, { id: 'q' }), version(2, { type: 'Person' }), version(2, { tenant: 'b' })])
      expect(listed(other)).toHaveLength(1)
  })
})

describe('The list', () => {
  it('holds each reason of a version until it is read, or a later version fails', () => {
    const reasons = (state: IndexState) => state.poisoned.map(({ versionId, reason }) => `${versionId} ${reason}`)
    const both = ['parameter a: X', 'parameter b: X', 'parameter a: X'].reduce(
      (state, reason) => recordUnindexable(state, version(1), reason),
      NO_STATE,
    )
    expect(reasons(both)).toEqual(['1 parameter b: X', '1 parameter a: X'])
    expect(reasons(recordUnindexable(both, version(2), 'parameter a: X'))).toEqual(['2 parameter a: X'])
    expect(reasons(clearUnindexable(both, version(1)))).toEqual([])
  })

  it('holds the last thousand; no tenant displaces or sees entries of another', () => {
    const few = [1, 2].map((n) => version(1, { tenant: 'few', id: `f${n}` }))
    const many = Array.from({ length: 1_100 }, (_, n) => version(1, { id: `m${n}` }))
    const state = [...few, ...many].reduce((before, each) => recordUnindexable(before, each, 'TypeError'), NO_STATE)
    const told = (tenant: string) => statusOf(state, tenant).unreadable
    expect(told('few').map(({ id }) => id)).toEqual(['f1', 'f2'])
    expect(told('a').map(({ id }) => id)).toEqual(many.slice(-998).map(({ id }) => id))
    expect(told('few')[0]).toEqual({ type: 'Patient', id: 'f1', versionId: 1, reason: 'TypeError' })
    expect(told('another')).toEqual([])
  })

  it('names the parameter that has no values, and none if the whole version failed', () => {
    const state = ['parameter nick-name: TypeError', 'TypeError', 'parameter'].reduce(
      (before, reason) => recordUnindexable(before, version(1), reason),
      NO_STATE,
    )
    expect(statusOf(state, 'a').unreadable.map(({ parameter }) => parameter)).toEqual(['nick-name', undefined, undefined])
  })

  it('saves a failure once: entries cleared since do not return', async () => {
    const state = shared()
    const list = new UnindexableVersions(state)
    list.addVersion(version(1), new TypeError('content'))
    await list.save()
    expect(state.names()).toEqual(['p 1 TypeError'])
    await state.change((before) => clearUnindexable(before, version(2)))
    await list.save()
    list.addVersion(version(1, { id: 'q' }), 'text')
    await list.save()
    expect(state.names()).toEqual(['q 1 string'])
  })

  it('retains entries that are added while it is saved', async () => {
    let later = () => list.addVersion(version(5, { id: 'later' }), new RangeError())
    const state = shared(() => {
      later()
      later = () => {}
    })
    const list = new UnindexableVersions(state)
    list.addVersion(version(1), new TypeError())
    await list.save()
    await list.save()
    expect(state.names()).toEqual(['p 1 TypeError', 'later 5 RangeError'])
  })

  it('retains entries that are added during concurrent saves', async () => {
    let later = () => list.addVersion(version(5, { id: 'later' }), new RangeError())
    const state = shared(() => {
      later()
      later = () => {}
    })
    const list = new UnindexableVersions(state)
    list.addVersion(version(1), new TypeError())
    await Promise.all([list.save(), list.save()])
    await list.save()
    expect(state.names()).toEqual(['p 1 TypeError', 'later 5 RangeError'])
  })
})
