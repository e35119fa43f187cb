/**
 * Rebuild of a billion documents in simulated time. A function indexes 500 a second. One in twenty steps fails, functions die within a page,
 * and executions die. A version of the store stands for 60,000 documents.
 */
import { describe, expect, it } from '@jest/globals'
import { requestNewIndices, WORKER_TIMEOUT_MS } from '../../../lambdas/indexing/lifecycle/rebuild-queue.ts'
import { statusOf } from '../../../lambdas/indexing/lifecycle/status.ts'
import type { RebuildParts } from '../../../lambdas/indexing/rebuild/rebuild-parts.ts'
import { RebuildProgress } from '../../../lambdas/indexing/rebuild/rebuild-progress.ts'
import { type RebuildStepInput, rebuildStep } from '../../../lambdas/indexing/rebuild/rebuild-steps.ts'
import { rebuildWorkflow } from '../../../lambdas/indexing/rebuild/workflow.ts'
import type { IndexDocument } from '../../../lambdas/ports/search/search-index.ts'
import type { ScanRequest } from '../../../lambdas/ports/store/resource-store.ts'
import { REBUILD_STEP_MS } from '../../../lambdas/runtime/step-times.ts'
import { DEFAULT_MIX } from '../../../lib/model/load.ts'
import { modelOf } from '../../../lib/model/model.ts'
import { caseCountOf } from '../../fixtures/long-runs.ts'
import { MemoryRows } from '../../fixtures/memory/kept-rows.ts'
import { createPrintedRandom } from '../../fixtures/seeded-random.ts'
import { type ExecutionResult, type SimulatedClock, simulateExecution } from '../../fixtures/simulated-execution.ts'
import { resourceKeyOf, versionOf, writeOf } from '../../fixtures/versions.ts'
import { createRebuildWorld, STEP_FUNCTION_ARN, TENANT } from '../rebuilt-world.ts'

const PAGE = 60_000
const PER_SECOND = 500
const HOUR = 60 * 60_000
const MINUTE = 60_000

/** A store with this number of resources of each type, stamped 1, 2, 3 …, and the indices of its rebuild. */
class LargeWorld {
  readonly clock: SimulatedClock = { now: 1e12 }
  readonly counts: Readonly<Record<string, number>>
  /** Type → page → how often it was indexed in the index that serves now. */
  readonly indexed = new Map<string, Map<string, number>>()
  readonly served: string[] = []
  /** Throws if the function dies before or after it indexes this page. */
  meet: (page: string, isIndexed: boolean) => void = () => undefined
  /** Polls of an index until its replicas exist. */
  polls = 0

  constructor(counts: Readonly<Record<string, number>>) {
    this.counts = counts
  }

  get resources(): Pick<RebuildParts['resources'], 'extent' | 'scan' | 'tenants'> {
    const { counts } = this
    const within = ({ type, since = 0, until = Number.POSITIVE_INFINITY }: Pick<ScanRequest, 'type' | 'since' | 'until'>) => [
      since,
      Math.min(until, counts[type] ?? 0),
    ]
    return {
      async *tenants() {
        yield TENANT
      },
      async extent(request, every) {
        const count = counts[request.type] ?? 0
        const cuts = Array.from({ length: Math.max(0, Math.ceil(count / every) - 1) }, (_, i) => (i + 1) * every)
        return { entries: count, cuts }
      },
      async *scan({ tenant, type, since, until, cursor, limit }) {
        const [from, to] = within({ type, since: Number(cursor ?? since ?? 0), ...(until === undefined ? {} : { until }) })
        for (let at = from!; at < to!; at += PAGE) {
          const end = limit === 1 ? at + 1 : Math.min(to!, at + PAGE)
          const versions = [
            versionOf(writeOf(resourceKeyOf(tenant, type, `${at}-${end}`), { lastUpdated: end, body: { resourceType: type } })),
          ]
          yield { versions, ...(end < to! ? { cursor: String(end) } : {}) }
        }
      },
    }
  }

  get index(): RebuildParts['index'] {
    const it = this
    const nextOf = (type: string) => {
      const pages = it.indexed.get(type) ?? new Map<string, number>()
      it.indexed.set(type, pages)
      return {
        name: `${type}-next`,
        identity: 'first',
        async apply(documents: readonly IndexDocument[]) {
          for (const { id } of documents) {
            it.meet(`${type} ${id}`, false)
            it.clock.now += (sizeOf(id) / PER_SECOND) * 1_000
            pages.set(id, (pages.get(id) ?? 0) + 1)
            it.meet(`${type} ${id}`, true)
          }
        },
        complete: async () => (it.polls-- > 0 ? ('yellow' as const) : ('green' as const)),
        async swap() {
          it.served.push(type)
          return undefined
        },
      }
    }
    return {
      rebuild: async (type) => nextOf(type),
      takeBack: async () => undefined,
      isThere: async () => true,
      isSound: async () => true,
      abandon: async (type) => void it.indexed.delete(type),
      removeKept: async () => undefined,
      applyAgain: async () => undefined,
      show: async () => undefined,
    }
  }

  /** Documents that were indexed, and those that were indexed again. */
  get documents() {
    const pages = [...this.indexed.values()].flatMap((each) => [...each])
    const distinct = pages.reduce((sum, [id]) => sum + sizeOf(id), 0)
    return { distinct, again: pages.reduce((sum, [id, times]) => sum + sizeOf(id) * (times - 1), 0) }
  }
}

const sizeOf = (page: string): number => {
  const [from, to] = page.split('-').map(Number)
  return to! - from!
}

/** Runs executions one after the other until no rebuild is pending, as the sweep of every minute starts them. */
async function rebuiltIn(
  world: LargeWorld,
  width: number,
  around: {
    readonly before?: (input: RebuildStepInput) => void
    readonly after?: (input: RebuildStepInput) => void
    readonly dies?: () => boolean
  } = {},
) {
  const { clock } = world
  const { state, ...others } = (await createRebuildWorld(1, 0)).parts()
  await state.change((each) => requestNewIndices(each, Object.keys(world.counts)))
  const progress = new RebuildProgress(new MemoryRows())
  const parts = { ...others, state, progress, resources: { ...others.resources, ...world.resources }, index: world.index }
  const step = rebuildStep({ ...parts, now: () => clock.now, wait: 60, budget: REBUILD_STEP_MS })
  const begin = clock.now
  const executions: ExecutionResult[] = []
  const hours: (number | undefined)[] = []
  for (let n = 0; (await state.read()).value.rebuilds.length > 0; n++) {
    if (n > 100) throw new Error('it never ends')
    const result = await simulateExecution({
      name: `e${n}`,
      definition: rebuildWorkflow(STEP_FUNCTION_ARN, width),
      clock,
      async step(input: RebuildStepInput) {
        around.before?.(input)
        if (input.action === 'fill' && hours.length === 0) hours.push(statusOf((await state.read()).value, TENANT).hours)
        const result = await step(input)
        around.after?.(input)
        return result
      },
      ...(around.dies === undefined ? {} : { dies: around.dies }),
    })
    executions.push(result)
    clock.now += result.ending === 'succeeded' ? MINUTE : WORKER_TIMEOUT_MS + MINUTE
  }
  return { executions, estimate: hours[0]!, hours: (clock.now - begin) / HOUR, state: (await state.read()).value }
}

/** The types of the model: four of five resources are Observations, and nine types have the others. */
const largeWorld = (count: number): LargeWorld => {
  const [largest, ...others] = Object.keys(DEFAULT_MIX.types)
  return new LargeWorld({ [largest!]: 0.802 * count, ...Object.fromEntries(others.map((type) => [type, 0.022 * count])) })
}

describe('The rebuild of many documents', () => {
  it('takes the estimated hours for a billion, in executions of fewer events than AWS allows, as the model says', async () => {
    const world = largeWorld(1e9)
    const { executions, estimate, hours } = await rebuiltIn(world, 32)
    expect(world.documents).toEqual({ distinct: 1e9, again: 0 })
    expect(executions.map(({ ending }) => ending)).toEqual(executions.map(() => 'succeeded'))
    const model = modelOf({ resources: 1e9, writes: 10_000, reads: 0, searches: 0, mix: DEFAULT_MIX }).rebuild
    expect([executions.length, model.width, Math.ceil(model.hours)]).toEqual([model.executions, 32, estimate])
    expect(Math.max(...executions.map(({ events }) => events))).toBeLessThanOrEqual(model.events)
    // The store of this world counts in no time.
    const modelled = model.hours - model.planMinutes / 60
    expect(hours / modelled).toBeGreaterThan(1)
    expect(hours / modelled).toBeLessThan(1.1)
  })

  it('indexes each once although steps fail, functions die and executions die', async () => {
    const random = createPrintedRandom('failures of the steps of a rebuild')
    const count = caseCountOf(250e6, 1e9)
    const world = largeWorld(count)
    const deaths = [0, 0]
    world.meet = (_, isIndexed) => {
      if (random.below(200) > 0) return
      deaths[isIndexed ? 1 : 0]!++
      throw new Error('the function has died')
    }
    let moves = 0
    const fail = () => {
      if (random.below(40) === 0) throw new Error('the step has failed')
    }
    const { executions, state } = await rebuiltIn(world, 40, {
      before: fail,
      after: fail,
      dies: () => ++moves === 1_000 || moves === 9_000,
    })
    // A function that dies has not stored its last page, which the next one indexes again.
    const { distinct, again } = world.documents
    expect([distinct, again > 0, again <= deaths[1]! * PAGE]).toEqual([count, true, true])
    expect(world.served.toSorted()).toEqual(Object.keys(world.counts).toSorted())
    expect([state.rebuilds, state.worker]).toEqual([[], undefined])
    expect(Math.min(...deaths)).toBeGreaterThan(0)
    expect(new Set(executions.map(({ ending }) => ending))).toEqual(new Set(['succeeded', 'died']))
    for (const { events } of executions) expect(events).toBeLessThan(20_000)
  })
})

describe('A segment that always fails', () => {
  it('ends the execution after all others are complete, and is retried alone', async () => {
    const world = new LargeWorld({ Observation: 10e6 })
    const filled: string[][] = [[]]
    let isBroken = true
    world.meet = (page, isIndexed) => {
      if (isIndexed) return
      filled.at(-1)!.push(page)
      if (isBroken && page === 'Observation 3060000-3120000') throw new Error('it always fails')
    }
    const { executions } = await rebuiltIn(world, 3, {
      before: ({ action }) => {
        if (action === 'next' && world.clock.now > 1e12 + WORKER_TIMEOUT_MS + 2 * HOUR && isBroken) {
          isBroken = false
          filled.push([])
        }
      },
    })
    expect(executions.map(({ ending }) => ending)).toEqual(['failed', 'succeeded'])
    expect(filled.at(-1)![0]).toBe('Observation 3060000-3120000')
    expect(filled.at(-1)!.length).toBe(Math.ceil((4e6 - 3.06e6) / PAGE))
    expect(world.documents).toEqual({ distinct: 10e6, again: 0 })
  })
})

describe('A full index', () => {
  it('takes over once it has its replicas', async () => {
    const world = new LargeWorld({ Observation: 1e6 })
    world.polls = 5
    const seen: number[] = []
    await rebuiltIn(world, 2, { after: ({ action }) => void (action === 'next' && seen.push(world.served.length)) })
    expect(world.polls).toBe(-1)
    expect(seen.slice(-7)).toEqual([0, 0, 0, 0, 0, 1, 1])
  })
})
