/** How often a write that resolves references searches. */
import { describe, expect, it } from '@jest/globals'
import { WHOLE_ACCESS } from '../../../lambdas/access/access.ts'
import { fhirError } from '../../../lambdas/fhir/outcome.ts'
import { limitConcurrency, mapInSlices } from '../../../lambdas/interactions/time-slices.ts'
import { type ReferenceResolver, referenceResolver } from '../../../lambdas/interactions/writing/reference-resolution.ts'
import type { Plan } from '../../../lambdas/ports/search/plan.ts'
import { fault } from '../../fixtures/machine-fault.ts'

const reference = (value: string | number) => ({ reference: `Organization?identifier=urn:x|${value}` })

function counted(isThere = true): {
  readonly resolve: ReferenceResolver
  readonly plans: Plan[]
  readonly most: () => number
} {
  const plans: Plan[] = []
  let [running, most] = [0, 0]
  const index = {
    async find(plan: Plan) {
      plans.push(plan)
      most = Math.max(most, ++running)
      await new Promise(setImmediate)
      running--
      return { hits: [{ type: 'Organization', id: 'o', version: 1, position: [] }], more: false }
    },
  }
  const reading = { timeZone: 'UTC', baseUrl: 'http://a.example/fhir' }
  const resources = () => ({ versions: async ([key]: readonly object[]) => [isThere ? key : undefined] })
  const resolve = referenceResolver({ index, resources } as never, { tenant: 'default', access: WHOLE_ACCESS, reading } as never)
  return { resolve, plans, most: () => most }
}

describe('resolving', () => {
  it('neither searches nor waits without conditional references', () => {
    const { resolve, plans } = counted()
    const plain = { resourceType: 'Observation', subject: { reference: 'Patient/1' } }
    const meaningOf = (reference: string) => (reference === 'urn:uuid:1' ? 'Patient/1' : undefined)
    expect(resolve(plain)).toBe(plain)
    expect(resolve(plain, meaningOf)).toBe(plain)
    expect(resolve({ ...plain, subject: { reference: 'urn:uuid:1' } }, meaningOf)).toEqual(plain)
    expect(plans).toEqual([])
  })
  it('searches once for equal references of a request', async () => {
    const { resolve, plans } = counted()
    const resource = { resourceType: 'Encounter', serviceProvider: reference(1), participant: [{ individual: reference(1) }] }
    const resolved = await Promise.all([resolve(resource), resolve(resource), resolve(resource)])
    expect(resolved[2]).toEqual({
      resourceType: 'Encounter',
      serviceProvider: { reference: 'Organization/o' },
      participant: [{ individual: { reference: 'Organization/o' } }],
    })
    expect(plans).toHaveLength(1)
  })
  it('fails with index-ahead if the store lacks the match', async () => {
    const { resolve } = counted(false)
    await expect(resolve({ resourceType: 'Encounter', serviceProvider: reference(1) })).rejects.toThrow(fault('index-ahead'))
  })
  it('makes at most 32 concurrent searches, and 10,000 in total', async () => {
    const { resolve, plans, most } = counted()
    const referring = (from: number, to: number) => ({
      resourceType: 'List',
      entry: Array.from({ length: to - from }, (_, i) => ({ item: reference(from + i) })),
    })
    await resolve(referring(0, 10_000))
    expect([plans.length, most()]).toEqual([10_000, 32])
    await expect(resolve(referring(9_990, 10_001))).rejects.toMatchObject({ status: 413 })
    expect(plans).toHaveLength(10_000)
  })
})

describe('limited', () => {
  it('continues with the next task after a failure', async () => {
    const takeTurn = limitConcurrency(1)
    const results = await Promise.allSettled([
      takeTurn(() => Promise.reject(fhirError(412, 'not-found', 'no'))),
      takeTurn(async () => 'yes'),
    ])
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'fulfilled'])
  })
})

describe('after a machine fault', () => {
  const broken = new Error('behind')
  /** How many tasks are begun, and what becomes of all. */
  async function begunBefore(error: Error, run: (task: () => Promise<never>) => Promise<unknown>): Promise<readonly [number, unknown]> {
    let begun = 0
    const outcome = await run(async () => {
      begun++
      await new Promise(setImmediate)
      throw error
    }).catch((thrown: unknown) => thrown)
    return [begun, outcome]
  }
  const items = Array.from({ length: 1_000 }, (_, i) => i)
  const sliced = async (task: () => Promise<never>) => Promise.all(await mapInSlices(items, task))
  const turns = async (task: () => Promise<never>) => {
    const takeTurn = limitConcurrency()
    const settled = await Promise.allSettled(items.map(() => takeTurn(task)))
    return (settled.at(-1) as PromiseRejectedResult).reason
  }

  it('no further task is started', async () => {
    expect(await begunBefore(broken, sliced)).toEqual([32, broken])
    expect(await begunBefore(broken, turns)).toEqual([32, broken])
  })
  it('all tasks are started if the request is invalid', async () => {
    const refused = fhirError(412, 'not-found', 'x')
    expect(await begunBefore(refused, sliced)).toEqual([1_000, refused])
    expect(await begunBefore(refused, turns)).toEqual([1_000, refused])
  })
})
