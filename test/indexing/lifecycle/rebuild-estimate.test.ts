/** Estimate of the hours of rebuilds, in the status of a tenant. */
import { describe, expect, it } from '@jest/globals'
import {
  recordRebuildProgress,
  recordTotals,
  requestNewIndices,
  requestRebuild,
  takeRebuilds,
} from '../../../lambdas/indexing/lifecycle/rebuild-queue.ts'
import { statusOf } from '../../../lambdas/indexing/lifecycle/status.ts'
import { NO_STATE } from '../../../lambdas/indexing/lifecycle/stored-state.ts'

const HOUR_OF_TWO = 2 * 500 * 3_600
const begun = takeRebuilds(requestNewIndices(NO_STATE, ['Patient', 'Basic']), { execution: 'a', width: 2, steps: 10 }, 1)
const attempt = begun.rebuilds[0]!.taken!
const counted = (count: number) => {
  const one = recordTotals(
    begun,
    attempt,
    'Patient',
    new Map([
      ['one', count],
      ['two', 1],
    ]),
  )
  return recordTotals(one, attempt, 'Basic', new Map([['one', HOUR_OF_TWO - 1]]))
}

describe('The hours of rebuilds', () => {
  it('are unknown until the documents of all types are counted', () => {
    expect(statusOf(begun, 'one').hours).toBeUndefined()
    expect(statusOf(recordTotals(counted(1), attempt, 'Basic', undefined), 'one').hours).toBeUndefined()
  })

  it('are those of all types and tenants at the width of the worker, rounded up', () => {
    expect(statusOf(counted(HOUR_OF_TWO), 'three').hours).toBe(2)
    expect(statusOf(counted(HOUR_OF_TWO + 1), 'three').hours).toBe(3)
  })

  it('become fewer with each document, and a common rebuild counts the documents of all tenants', () => {
    const counts = new Map([
      ['one', HOUR_OF_TWO - 1],
      ['two', 1],
    ])
    const after = recordRebuildProgress(counted(HOUR_OF_TWO + 1), attempt, 'Patient', counts)
    expect(statusOf(after, 'one').hours).toBe(2)
    expect(statusOf(after, 'one').rebuilds.map(({ type, done, total }) => [type, done, total])).toEqual([
      ['Patient', 99, 100],
      ['Basic', 0, 100],
    ])
  })

  it('are not estimated for rebuilds that wait for an execution', () =>
    expect(statusOf(requestRebuild(NO_STATE, 'one', ['Patient']), 'one').hours).toBeUndefined())
})

describe('An attempt', () => {
  it('continues in another execution, with its progress, and takes no later rebuild of its types', () => {
    const { worker: _, ...left } = requestRebuild(counted(9), 'one', ['Patient', 'Device'])
    const again = takeRebuilds(left, { execution: 'b', width: 2, steps: 10 }, 5)
    const rows = again.rebuilds.map(({ tenant, type, taken, total }) => [tenant, type, taken, total])
    expect(rows.toSorted()).toEqual([
      ['', 'Basic', attempt, HOUR_OF_TWO - 1],
      ['', 'Patient', attempt, 10],
      ['one', 'Device', again.rebuilds.find(({ type }) => type === 'Device')!.taken, -1],
      ['one', 'Patient', undefined, -1],
    ])
    expect(again.rebuilds.find(({ type }) => type === 'Device')!.taken).toMatch(/^b~5~/)
  })

  it('is left by an execution that has reached the maximum number of steps', () => {
    const taking = { execution: 'a', width: 2, steps: 3 }
    const [second, third] = [takeRebuilds(begun, taking, 2), takeRebuilds(takeRebuilds(begun, taking, 2), taking, 3)]
    expect([begun, second, third].map(({ worker }) => worker?.steps)).toEqual([1, 2, 3])
    expect(takeRebuilds(third, taking, 4)).toEqual({ ...third, worker: undefined })
  })
})
