/** The shared state of a deployment is limited: excessive definitions and requests are reported, and other tenants lose nothing. */
import { randomBytes } from 'node:crypto'
import { deflateRawSync } from 'node:zlib'
import { describe, expect, it } from '@jest/globals'
import { applySearchParameter } from '../../../lambdas/indexing/lifecycle/definitions.ts'
import { requestRebuild, takeRebuilds, WORKER_TIMEOUT_MS } from '../../../lambdas/indexing/lifecycle/rebuild-queue.ts'
import type { IndexState } from '../../../lambdas/indexing/lifecycle/state.ts'
import { NO_STATE } from '../../../lambdas/indexing/lifecycle/stored-state.ts'
import { fault } from '../../fixtures/machine-fault.ts'
import { deletionOf, resourceKeyOf, versionOf, writeOf } from '../../fixtures/versions.ts'

const MOST_OF_AN_ITEM = 400_000
const sizeOf = (state: IndexState) => deflateRawSync(JSON.stringify(state)).length

/** A parameter with an incompressible expression. */
const parameter = (tenant: string, id: string) =>
  versionOf(
    writeOf(resourceKeyOf(tenant, 'SearchParameter', id), {
      body: {
        resourceType: 'SearchParameter', id, url: id, status: 'active', code: id, base: ['Patient'], type: 'string',
        expression: `Patient.name.family.where($this = '${randomBytes(3_000).toString('base64')}')`,
      }, // biome-ignore format: one resource
    }),
  )
const definedBy = (state: IndexState, tenant: string, count: number): IndexState =>
  Array.from({ length: count }, (_, i) => parameter(tenant, `${tenant}${i}`)).reduce(applySearchParameter, state)
const countOf = ({ definitions }: IndexState, tenant: string) => definitions.filter((each) => each.tenant === tenant).length

describe('the state of an index', () => {
  const full = definedBy(definedBy(definedBy(NO_STATE, 'a', 50), 'b', 50), 'c', 50)

  it('reserves space for the definitions of each tenant and fits into an item', () => {
    expect(countOf(full, 'a')).toBeLessThan(50)
    expect(countOf(full, 'b')).toBeGreaterThan(countOf(full, 'a') / 2)
    expect(sizeOf(full)).toBeLessThan(MOST_OF_AN_ITEM)
    expect(full.poisoned.at(-1)).toMatchObject({ tenant: 'c', type: 'SearchParameter', id: 'c49', reason: 'TooManyParameters' })
  })

  it('accepts deletions when full, and then new definitions again', () => {
    const gone = ['a0', 'a1'].map((id) => versionOf(deletionOf(resourceKeyOf('a', 'SearchParameter', id), { expected: 1 })))
    const after = gone.reduce(applySearchParameter, full)
    expect(countOf(after, 'a')).toBe(countOf(full, 'a') - 2)
    expect(countOf(applySearchParameter(after, parameter('a', 'again')), 'a')).toBe(countOf(full, 'a') - 1)
  })

  it('limits the waiting rebuilds: one more is refused as overloaded', () => {
    const rebuilds = Array.from({ length: 15_000 }, () => ({
      tenant: randomBytes(30).toString('hex'),
      type: 'Patient',
      done: 0,
      total: -1,
    }))
    expect(() => requestRebuild({ ...NO_STATE, rebuilds }, 'a', ['Patient'])).toThrow(fault('overloaded'))
    expect(requestRebuild({ ...NO_STATE, rebuilds }, rebuilds[0]!.tenant, ['Patient']).rebuilds.length).toBe(15_000)
    expect(requestRebuild(requestRebuild(NO_STATE, 'a', ['Patient']), 'a', ['Patient']).rebuilds.length).toBe(1)
  })

  it('leaves a rebuild to its worker until the worker times out', () => {
    const [one, two] = ['one', 'two'].map((execution) => ({ execution, width: 3, steps: 10 }))
    const begun = takeRebuilds(requestRebuild(NO_STATE, 'a', ['Patient']), one!, 7)
    expect(takeRebuilds(begun, two!, 7 + WORKER_TIMEOUT_MS)).toBe(begun)
    const at = 8 + WORKER_TIMEOUT_MS
    expect(takeRebuilds(begun, two!, at).worker).toEqual({ execution: 'two', at, steps: 1, width: 3 })
  })
})
