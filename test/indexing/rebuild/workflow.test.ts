/** The rebuild on AWS during writes, repeated steps and new definitions: in the end every resource is indexed in its newest version. */
import { describe, expect, it } from '@jest/globals'
import validate from 'asl-validator'
import { requestNewIndices, requestRebuild, restartRebuild, takeRebuilds } from '../../../lambdas/indexing/lifecycle/rebuild-queue.ts'
import { addIndices, markLost, markServing, withIdentity } from '../../../lambdas/indexing/lifecycle/serving-indices.ts'
import type { IndexState } from '../../../lambdas/indexing/lifecycle/state.ts'
import { statusOf } from '../../../lambdas/indexing/lifecycle/status.ts'
import { encode, NO_STATE } from '../../../lambdas/indexing/lifecycle/stored-state.ts'
import { rebuildStep } from '../../../lambdas/indexing/rebuild/rebuild-steps.ts'
import { planType } from '../../../lambdas/indexing/rebuild/type-rebuild.ts'
import { MAX_WIDTH, rebuildWorkflow, WORKFLOW } from '../../../lambdas/indexing/rebuild/workflow.ts'
import { nameOf } from '../../../lambdas/ports/store/newest-versions.ts'
import type { ScanRequest } from '../../../lambdas/ports/store/resource-store.ts'
import { caseCountOf, firstSeed } from '../../fixtures/long-runs.ts'
import { patientKeyOf } from '../../fixtures/versions.ts'
import { createRebuildWorld, type RebuildWorld, STEP_FUNCTION_ARN, TENANT } from '../rebuilt-world.ts'

const OTHER = 'other'
/** Number of runs with faults. */
const SEEDS = caseCountOf(4, 40)
/** A state that has just detected the loss of the index of the type. The identity of its replacement is `first`. */
const lostBy = (state: IndexState, type: string): IndexState =>
  markLost(addIndices(withIdentity(state, 'before'), [type], 'before'), { [type]: 'before' }, 'first')

describe.each([
  ['in the root', false],
  ['in rows', true],
])('with the parts of tenants %s, the rebuild', (_, areRows) => {
  const createWorld = (seed: number, patients?: number) => createRebuildWorld(seed, patients, areRows)

  it('is a state machine that the service accepts', () => {
    const { isValid, errors } = validate(rebuildWorkflow(STEP_FUNCTION_ARN))
    expect([isValid, errors]).toEqual([true, []])
  })

  it.each([1, 3, MAX_WIDTH])('fills %i segments at the same time', async (width) => {
    const it = await createWorld(1)
    await it.define('nick', 'Patient.name.family')
    const definition = JSON.parse(JSON.stringify(rebuildWorkflow(STEP_FUNCTION_ARN, width)))
    expect(definition.States.EachLane.MaxConcurrency).toBe(width)
    const { lanes } = await it.nextFill('a', width)
    expect(lanes).toHaveLength(Math.min(width, 4))
  })

  it('fills two by default', () => expect(rebuildWorkflow(STEP_FUNCTION_ARN)).toEqual(rebuildWorkflow(STEP_FUNCTION_ARN, 2)))

  it('makes definitions searchable, and reports its progress', async () => {
    const it = await createWorld(1)
    await it.define('nick', 'Patient.name.family')
    const seen: number[] = []
    await it.run('a', async ({ action }, isDone) => {
      if (action === 'fill' && isDone) seen.push(statusOf((await it.state.read()).value, TENANT).rebuilds[0]!.done)
    })
    expect(seen.at(-1)).toBe(40)
    await it.expectWhole('nick')
  })

  it.each([0, 1, 2, 3])('activates the definitions of 40 tenants if write %i of a swap fails', async (failing) => {
    const it = await createWorld(5, 4)
    const tenants = Array.from({ length: 40 }, (_, i) => `tenant-${i}`)
    for (const tenant of tenants) {
      await it.write('p', tenant, tenant)
      await it.define('nick', 'Patient.name.family', tenant)
    }
    let failures = 0
    await it.run('a', async ({ action }, isDone) => {
      let writes = 0
      it.onWrite = () => {
        if (action !== 'swap' || isDone || failures > 0 || writes++ < failing) return
        failures++
        throw new Error('the table does not respond')
      }
    })
    // In the root, a swap has one write.
    expect(failures).toBe(areRows || failing === 0 ? 1 : 0)
    await it.expectWhole(...tenants.map(() => 'nick'))
  })

  it('counts one step for the documents of many tenants, and shows each tenant its own', async () => {
    const it = await createWorld(5, 0)
    it.budget = 1_000
    const tenants = Array.from({ length: 18 }, (_, i) => `tenant-${i}`)
    for (const tenant of tenants) {
      await it.write('p', tenant, tenant)
      await it.write('q', tenant, tenant)
      await it.state.change((state) => requestRebuild(state, tenant, ['Patient']))
    }
    const seen: unknown[] = []
    await it.run('a', async ({ action }, isDone) => {
      const { rebuilds, worker } = (await it.state.read()).value
      if (action === 'fill' && isDone) seen.push([worker?.steps, ...rebuilds.map(({ done, total }) => `${done}/${total}`)])
    })
    // Three steps choose the index, and one of two lanes finds no segment.
    expect(seen).toEqual([1, 2].map(() => [4, ...tenants.map(() => '2/2')]))
    await it.expectWhole()
  })

  it('announces the canonical URLs of all resources that it indexes', async () => {
    const it = await createWorld(1)
    await it.state.change((state) => requestRebuild(state, TENANT, ['Patient']))
    await it.run('a')
    expect(it.announced.size).toBe(40)
  })

  it('indexes nothing of a segment that is no longer wanted', async () => {
    const it = await createWorld(1)
    await it.state.change((state) => requestRebuild(state, TENANT, ['Patient']))
    const { lanes } = await it.nextFill('a')
    const step = rebuildStep(it.parts())
    const other = { ...lanes[0]!, execution: 'other' }
    expect(await step({ action: 'fill', workflow: WORKFLOW, lane: other })).toEqual({ ...other, more: false })
    await it.state.change((state) => requestRebuild(state, TENANT, ['Patient']))
    expect(await step({ action: 'fill', workflow: WORKFLOW, lane: lanes[0]! })).toEqual({ ...lanes[0]!, more: false })
    expect(it.made).toEqual([])
  })

  it('ends at once if there is nothing to do', async () => {
    const it = await createWorld(1)
    await it.run('a')
    expect(it.steps).toEqual(['next'])
  })

  it('creates no index for a type without resources', async () => {
    const it = await createWorld(1, 0)
    await it.state.change((state) => requestRebuild(state, TENANT, ['Observation']))
    await it.run('a')
    expect(it.steps).toEqual(['swap', 'next'])
    expect(it.indices.live.name).toBe('v1')
    await it.expectWhole()
  })

  it('waits for writers of a lost type, and creates its index even if empty', async () => {
    const it = await createWorld(1, 0)
    await it.state.change((state) => lostBy(state, 'Patient'))
    await it.run('a')
    expect(it.steps).toEqual(['next', 'open', 'next', 'fill', 'fill', 'swap', 'next'])
    expect(it.indices.live.name).not.toBe('v1')
    expect(encode((await it.state.read()).value).live).toMatchObject({ types: { Patient: 'first' }, lacking: [] })
    await it.expectWhole()
  })

  it('starts again if the index of its type is lost meanwhile; the old attempt ends', async () => {
    const it = await createWorld(9)
    await it.define('nick', 'Patient.name.family')
    let fills = 0
    await it.run('a', async ({ action }, isDone) => {
      if (action !== 'fill' || isDone || ++fills !== 2) return
      it.indices.loseAll()
      await it.state.change((state) => lostBy(state, 'Patient'))
    })
    expect(it.steps.filter((step) => step === 'open')).toHaveLength(2)
    expect(encode((await it.state.read()).value).live!.lacking).toEqual([])
    await it.expectWhole('nick')
  })

  it.each(['fill', 'swap'])('starts again at once if its next index is removed before a %s', async (before) => {
    const it = await createWorld(11)
    await it.define('nick', 'Patient.name.family')
    let isRemoved = false
    await it.run('a', async ({ action }, isDone) => {
      if (isRemoved || isDone || action !== before) return
      isRemoved = true
      it.indices.next = undefined
    })
    expect([isRemoved, it.steps.filter((step) => step === 'open').length]).toEqual([true, 2])
    await it.expectWhole('nick')
  })

  it('does not switch to a next index that one fill missed, even if it returned', async () => {
    const it = await createWorld(13)
    await it.define('nick', 'Patient.name.family')
    let isMissed = false
    const { rebuild } = it.indices
    it.indices.rebuild = async (...of) => {
      const next = await rebuild.apply(it.indices, of)
      const apply: typeof next.apply = async (...given) => {
        if (isMissed) return next.apply(...given)
        isMissed = true
        isGone = true
        throw new Error('planted')
      }
      return { ...next, apply }
    }
    let isGone = false
    it.indices.isThere = async () => {
      const wasGone = isGone
      isGone = false
      return !wasGone
    }
    await it.run('a')
    expect(it.steps.filter((step) => step === 'open')).toHaveLength(2)
    expect(it.steps.filter((step) => step === 'swap')).toHaveLength(1)
    expect(it.indices.live.name).toBe('v3')
    await it.expectWhole('nick')
  })

  it('continues with its next index after a failure if that index still exists', async () => {
    const it = await createWorld(12)
    await it.define('nick', 'Patient.name.family')
    const { isThere } = it.indices
    let asked = 0
    it.indices.isSound = async () => true
    it.indices.isThere = async (...of) => {
      asked++
      return isThere.apply(it.indices, of)
    }
    const { rebuild } = it.indices
    let failures = 1
    it.indices.rebuild = async (...of) => {
      const next = await rebuild.apply(it.indices, of)
      const swap: typeof next.swap = async (isKept) => {
        if (failures-- > 0) throw new Error('planted')
        return next.swap(isKept)
      }
      return { ...next, swap }
    }
    await it.run('a')
    expect([asked, it.steps.filter((step) => step === 'open').length]).toEqual([1, 1])
    await it.expectWhole('nick')
  })

  describe('while a next index lacks a shard', () => {
    const MINUTE = 60_000
    const newIndex = async (seed: number) => {
      const it = await createWorld(seed)
      await it.state.change((state) => requestNewIndices(state, ['Patient']))
      return it
    }

    it('waits until the shard is back', async () => {
      const it = await newIndex(11)
      let looks = 0
      it.indices.isSound = async () => {
        it.pass(MINUTE)
        return ++looks > 4
      }
      await it.run('a')
      expect([looks > 4, it.indices.live.name, it.steps.filter((step) => step === 'open').length]).toEqual([true, 'v2', 1])
      await it.expectWhole()
    })

    it('starts again after five minutes, and removes that index at once', async () => {
      const it = await newIndex(11)
      it.indices.isSound = async (_, name) => {
        it.pass(MINUTE)
        return name !== 'v2'
      }
      /** Next index of the type while no attempt has it. */
      const detached: (string | undefined)[] = []
      await it.run('a', async (_, isDone) => {
        const { rebuilds } = (await it.state.read()).value
        if (isDone && rebuilds.some(({ taken }) => taken === undefined)) detached.push(it.indices.next?.name)
      })
      expect([detached, it.indices.live.name]).toEqual([[undefined], 'v3'])
      await it.expectWhole()
    })

    it('fills no segment meanwhile, and continues in another execution', async () => {
      const it = await newIndex(11)
      let isAway = false
      it.indices.isSound = async () => !isAway
      const breaks = async ({ action }: { readonly action: string }, isDone: boolean) => {
        if (action === 'fill' && isDone) isAway = true
        if (action === 'next' && isDone) isAway = false
      }
      await expect(it.run('a', breaks)).rejects.toThrow()
      expect(it.steps.filter((step) => step === 'fill').length).toBeGreaterThan(0)
      await it.state.change(({ worker: _, ...state }) => state)
      await it.run('b')
      expect([it.indices.live.name, it.steps.filter((step) => step === 'open').length]).toEqual(['v2', 1])
      await it.expectWhole()
    })

    it('does not let a next index without a shard serve', async () => {
      const it = await newIndex(11)
      const answers = ['red', 'yellow', 'green'] as const
      const { rebuild } = it.indices
      let asked = 0
      it.indices.rebuild = async (...of) => ({
        ...(await rebuild.apply(it.indices, of)),
        complete: async () => answers[asked++] ?? 'green',
      })
      await it.run('a')
      expect([asked, it.indices.live.name]).toEqual([3, 'v2'])
    })
  })

  it('records nothing of a type that a newer request detached while it was planned', async () => {
    const it = await createWorld(11)
    const taking = { execution: 'a', width: 2, steps: 10 }
    // A finished rebuild would record that the identifier rows are complete.
    const withRowsMissing = (state: IndexState): IndexState => ({ ...state, types: { ...state.types, Basic: { listed: -1 } } })
    const { value } = await it.state.change((state) => takeRebuilds(requestNewIndices(withRowsMissing(state), ['Basic']), taking, it.now))
    const [{ taken = '' } = {}] = value.rebuilds
    const ofType = { type: 'Basic', attempt: taken }
    const detach = () => it.state.change((state) => restartRebuild(state, taken, 'Basic'))
    const parts = it.parts()
    // The type has no resources, so that planning would finish its rebuild.
    await planType({ ...parts, index: { ...parts.index, show: async () => void (await detach()) } }, ofType, it.now)
    await planType(parts, ofType, it.now)
    const { rebuilds, types } = (await it.state.read()).value
    expect([rebuilds.map(({ type }) => type), types.Basic, await it.progress.plan(ofType)]).toEqual([['Basic'], { listed: -1 }, undefined])
  })

  it('makes only the last index count if the type is lost again', async () => {
    const it = await createWorld(10)
    await it.state.change((state) => lostBy(state, 'Patient'))
    const lacking: unknown[] = []
    await it.run('a', async ({ action }, isDone) => {
      if (action === 'swap') lacking.push([isDone, encode((await it.state.read()).value).live!.lacking])
    })
    expect(lacking).toEqual([
      [false, ['Patient']],
      [true, []],
    ])
    const again = await it.state.change((state) => markLost(state, { Patient: 'first' }, 'second'))
    expect(encode(markServing(again.value, 'Patient', 'first')).live!.lacking).toEqual(['Patient'])
    expect(encode(markServing(again.value, 'Patient', 'second')).live!.lacking).toEqual([])
  })

  it('indexes a type with deletions as its latest versions', async () => {
    for (const deletions of [1, 7]) {
      const it = await createWorld(2, 12)
      for (let i = 0; i < deletions; i++) await it.delete(`p${i}`)
      await it.define('nick', 'Patient.name.family')
      await it.run('a')
      expect(it.indices.live.name).not.toBe('v1')
      await it.expectWhole('nick')
    }
  })

  it.each([
    ['in a new index', (state: IndexState) => requestNewIndices(state, ['Patient'])],
    ['in place', (state: IndexState) => requestRebuild(state, TENANT, ['Patient'])],
  ])('also indexes deletions %s: late or repeated earlier versions are never found', async (_, asked) => {
    const it = await createWorld(4)
    const before = it.heads.get(nameOf(patientKeyOf('p3', TENANT)))!
    it.hold()
    await it.delete('p3')
    it.held = undefined
    await it.state.change(asked)
    await it.run('a')
    await it.expectWhole()
    await it.deliver(before)
    await it.expectWhole()
  })

  it('loses no concurrent write, even if steps fail and are repeated', async () => {
    for (let seed = firstSeed() + 1; seed <= firstSeed() + SEEDS; seed++) {
      const it = await createWorld(seed)
      await it.define('nick', 'Patient.name.family')
      let faults = 6
      await it.run('a', async () => {
        await it.write(`p${it.below(60)}`, `g${it.below(1000)}`)
        if (it.below(4) === 0 && faults-- > 0) throw new Error('planted')
      })
      await it.expectWhole('nick')
    }
  })

  it('reads each segment as of one instant, despite writes between its pages', async () => {
    const it = await createWorld(7)
    await it.define('nick', 'Patient.name.family')
    let fills = 0
    await it.run('a', async ({ action }, isDone) => {
      if (action === 'fill' && isDone) await it.write(`p${fills++}`, 'later')
    })
    expect(fills).toBeGreaterThan(it.instants.size)
    expect([...it.instants.values()].map(({ size }) => size)).toEqual([1, 1, 1, 1])
    await it.expectWhole('nick')
  })

  it('switches and activates nothing in an overtaken attempt', async () => {
    const it = await createWorld(8)
    await it.define('nick', 'Patient.name.family')
    const live = it.indices.live.name
    const { progress } = it
    const segments = progress.segments.bind(progress)
    let [overtakenIn, fills] = [0, 0]
    // The step that lets the index serve reads the segments after it has read the state.
    progress.segments = async (ofType) => {
      const found = await segments(ofType)
      if (fills > 0 || overtakenIn > 0 || found.length === 0 || !found.every((each) => each.progress?.isDone)) return found
      overtakenIn = it.steps.length
      await it.define('second', 'Patient.name.family')
      expect(it.indices.live.name).toBe(live)
      return found
    }
    await it.run('a', async ({ action }, isDone) => {
      if (action === 'fill') fills += isDone ? -1 : 1
    })
    expect(overtakenIn).toBeGreaterThan(0)
    expect(it.steps.slice(overtakenIn).filter((step) => step === 'open')).toHaveLength(1)
    expect(it.steps.filter((step) => step === 'swap')).toHaveLength(1)
    await it.expectWhole('nick', 'second')
  })

  it('includes later definitions, and never searches by a half-built one', async () => {
    const it = await createWorld(3)
    await it.define('nick', 'Patient.name.family')
    let fills = 0
    await it.run('a', async ({ action }, isDone) => {
      if (action === 'fill' && isDone && ++fills === 3) await it.define('second', 'Patient.name.family')
      if (fills === 3) expect((await it.state.read()).value.definitions.map(({ state }) => state)).toEqual(['building', 'building'])
    })
    expect(it.steps.filter((step) => step === 'open')).toHaveLength(2)
    await it.expectWhole('nick', 'second')
  })

  it('continues despite damaged versions, which are reported and found by their keys', async () => {
    const it = await createWorld(6)
    it.damaged.add('p3 1').add('p39 1')
    it.beforeHistory = async (id) => {
      if (id === 'p39') await it.write(id, 'sound')
    }
    await it.state.change((state) => requestNewIndices(state, ['Patient']))
    await it.run('a')
    await it.expectWhole()
    const { unreadable } = statusOf((await it.state.read()).value, TENANT)
    expect(unreadable.map(({ id, versionId }) => `${id} ${versionId}`)).toEqual(['p3 1'])
    const familyOf = (id: string) => Object.keys(it.indices.live.documents.get(nameOf(patientKeyOf(id, TENANT)))!.order).includes('family')
    expect([familyOf('p3'), familyOf('p39')]).toEqual([false, true])
  })

  it('reports versions that it cannot read until it can', async () => {
    const it = await createWorld(6)
    const unreadable = async () =>
      statusOf((await it.state.read()).value, TENANT).unreadable.map(({ id, versionId }) => `${id} ${versionId}`)
    await it.writeText('p3', 'damaged')
    await it.state.change((state) => requestRebuild(state, TENANT, ['Patient']))
    await it.run('a')
    expect(await unreadable()).toEqual(['p3 2'])
    await it.expectWhole()
    await it.write('p3', 'mended')
    await it.state.change((state) => requestRebuild(state, TENANT, ['Patient']))
    await it.run('b')
    expect(await unreadable()).toEqual([])
  })

  describe('of several tenants', () => {
    const several = async (seed: number): Promise<RebuildWorld> => {
      const made = await createWorld(seed, 12)
      for (let i = 0; i < 9; i++) await made.write(`p${i}`, `o${i}`, OTHER)
      return made
    }
    const documentsOf = ({ indices }: RebuildWorld, tenant: string) =>
      [...indices.live.documents.values()].filter((each) => each.tenant === tenant)

    it('loses no documents, and indexes each by the definitions of its tenant', async () => {
      for (let seed = firstSeed() + 1; seed <= firstSeed() + SEEDS; seed++) {
        const it = await several(seed)
        await it.define('nick', 'Patient.name.family')
        await it.define('others', 'Patient.name.family', OTHER)
        let faults = 6
        await it.run('a', async () => {
          await it.write(`p${it.below(20)}`, `g${it.below(1000)}`, [TENANT, OTHER, 'third'][it.below(3)])
          if (it.below(4) === 0 && faults-- > 0) throw new Error('planted')
        })
        expect(it.indices.live.name).not.toBe('v1')
        await it.expectWhole('nick', 'others')
      }
    })

    it('in new indices creates the documents of all', async () => {
      const it = await several(2)
      const before = [...documentsOf(it, TENANT), ...documentsOf(it, OTHER)]
      await it.state.change((state) => requestNewIndices(state, ['Patient']))
      await it.run('a')
      await it.expectWhole()
      for (const document of [...documentsOf(it, TENANT), ...documentsOf(it, OTHER)]) expect(before).not.toContain(document)
    })

    it('on request of one tenant updates only its documents, in place', async () => {
      for (let seed = firstSeed() + 1; seed <= firstSeed() + SEEDS; seed++) {
        const it = await several(seed)
        const [mine, others] = [documentsOf(it, TENANT), documentsOf(it, OTHER)]
        await it.state.change((state) => requestRebuild(state, TENANT, ['Patient', 'Observation']))
        let faults = 6
        const waits: unknown[] = []
        await it.run('a', async (input) => {
          if (input.action === 'open') waits.push(input.type)
          await it.write(`p${it.below(20)}`, `g${it.below(1000)}`)
          if (it.below(4) === 0 && faults-- > 0) throw new Error('planted')
        })
        expect(waits).toEqual([])
        expect(it.indices.live.name).toBe('v1')
        expect(documentsOf(it, OTHER)).toEqual(others)
        for (const document of documentsOf(it, OTHER)) expect(others).toContain(document)
        for (const document of documentsOf(it, TENANT)) expect(mine).not.toContain(document)
        await it.expectWhole()
      }
    })

    it('on request removes documents of deletions that no function followed', async () => {
      const it = await createWorld(1, 12)
      it.hold()
      await it.delete('p3')
      await it.delete('p7')
      it.held = undefined
      await it.state.change((state) => requestRebuild(state, TENANT, ['Patient']))
      await it.run('a')
      expect(it.indices.live.name).toBe('v1')
      await it.expectWhole()
    })

    it('reports to each tenant its own progress only', async () => {
      const it = await several(3)
      await it.define('nick', 'Patient.name.family')
      await it.state.change((state) => requestRebuild(state, OTHER, ['Patient']))
      const seen: unknown[] = []
      await it.run('a', async ({ action }, isDone) => {
        const { value } = await it.state.read()
        if (action === 'swap' && !isDone) seen.push([TENANT, OTHER, 'third'].map((tenant) => statusOf(value, tenant).rebuilds))
      })
      expect(seen).toEqual([[[expect.objectContaining({ done: 12 })], [expect.objectContaining({ done: 9 })], []]])
      await it.expectWhole('nick')
    })

    it('takes turns: a tenant with many types lets others in between', () => {
      const asked = requestRebuild(requestRebuild(NO_STATE, TENANT, ['A', 'B', 'C']), OTHER, ['D', 'E'])
      expect(asked.rebuilds.map(({ type }) => type)).toEqual(['A', 'D', 'B', 'E', 'C'])
    })

    it('in common reveals no number of documents to a tenant', () => {
      const rebuild = { tenant: '', type: 'Resource', done: 1_234, total: 5_000 }
      const status = (more: object) => statusOf({ ...NO_STATE, rebuilds: [{ ...rebuild, ...more }] }, TENANT).rebuilds
      expect(status({})).toEqual([{ type: 'Resource', done: 24, total: 100 }])
      expect(status({ total: -1 })).toEqual([{ type: 'Resource', done: 0, total: -1 }])
    })

    it('on request of one with a new definition still creates an index', async () => {
      const it = await several(4)
      await it.define('nick', 'Patient.name.family')
      await it.state.change((state) => requestRebuild(state, TENANT, ['Patient']))
      await it.run('a')
      expect(it.indices.live.name).not.toBe('v1')
      await it.expectWhole('nick')
    })
  })

  describe('in place, while a page of it is read', () => {
    /** Applies `happens` after the state is read and before the documents are. */
    const filled = async (it: RebuildWorld, happens: (state: IndexState) => IndexState): Promise<unknown> => {
      const parts = it.parts()
      const { scan } = parts.resources
      const resources = {
        ...parts.resources,
        async *scan(request: ScanRequest) {
          await it.state.change(happens)
          yield* scan(request)
        },
      }
      await it.state.change((state) => requestRebuild(state, TENANT, ['Patient']))
      const { lanes } = await it.nextFill('a')
      return rebuildStep({ ...parts, resources })({ action: 'fill', workflow: WORKFLOW, lane: lanes[0]! })
    }
    const indexed = (state: IndexState): IndexState => ({ ...addIndices(withIdentity(state, 'one'), ['Patient'], 'one'), extraction: '1' })

    it('is retried after a failure and does not start again', async () => {
      const it = await createWorld(1)
      const parts = it.parts()
      const index = { ...parts.index, applyAgain: () => Promise.reject(new Error('planted')) }
      await it.state.change((state) => requestRebuild(state, TENANT, ['Patient']))
      const { lanes } = await it.nextFill('a')
      const { rebuilds } = (await it.state.read()).value
      const step = rebuildStep({ ...parts, index })
      await expect(step({ action: 'fill', workflow: WORKFLOW, lane: lanes[0]! })).rejects.toThrow('planted')
      expect((await it.state.read()).value.rebuilds).toEqual(rebuilds)
    })

    it('indexes nothing once the store is restored, because its reads may be outdated', async () => {
      const it = await createWorld(1)
      await it.state.change(indexed)
      const setBackNow = (state: IndexState) => ({ ...state, epoch: 1 })
      await expect(filled(it, setBackNow)).rejects.toThrow('the index is of epoch 1, this function of 0')
      expect(it.made).toEqual([])
    })

    it('records the age of documents that it writes into the index of another release', async () => {
      const it = await createWorld(1)
      await it.state.change(indexed)
      await filled(it, (state) => {
        const { outdated: _, ...index } = state.types.Patient!
        return { ...state, types: { Patient: index }, extraction: '2' }
      })
      const made = [...it.heads.values()].filter(({ id }) => it.made.includes(id))
      const since = Math.min(...made.map(({ lastUpdated }) => lastUpdated))
      expect(made.length).toBeGreaterThan(0)
      expect(encode((await it.state.read()).value).behind).toEqual({ Patient: { extraction: '2', since } })
    })
  })

  it('is done by one of several executions started together', async () => {
    const it = await createWorld(4)
    await it.define('nick', 'Patient.name.family')
    await Promise.all(['a', 'b', 'c'].map((execution) => it.run(execution)))
    expect(it.steps.filter((step) => step === 'open')).toHaveLength(1)
    await it.expectWhole('nick')
  })

  it('continues in another execution when its own is gone, and fills no segment again', async () => {
    const it = await createWorld(5)
    await it.define('nick', 'Patient.name.family')
    await expect(
      it.run('a', async ({ action }) => {
        if (action === 'swap') throw new Error('planted')
      }),
    ).rejects.toThrow()
    await it.write('p1', 'later')
    const gone = { ...it.parts(), now: () => Date.now() }
    await rebuildStep(gone)({ action: 'next', workflow: WORKFLOW, execution: 'b', width: 2 })
    const fills = it.steps.filter((step) => step === 'fill').length
    await it.run('b')
    expect(it.steps.filter((step) => step === 'fill')).toHaveLength(fills)
    await it.expectWhole('nick')
  })
})
