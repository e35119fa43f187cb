/**
 * A store after a point-in-time restore and new writes: in the end the index equals the store, and only versions written since the
 * restored instant are indexed again. On an emulator of DynamoDB, and on OpenSearch if an engine is given.
 */
import { BatchWriteCommand, ScanCommand } from '@aws-sdk/lib-dynamodb'
import { beforeEach, describe, expect, it } from '@jest/globals'
import type { DynamoDbResourceStore } from '../../../lambdas/adapters/dynamodb/store/resource-store.ts'
import { externalVersion, resourceVersionOf } from '../../../lambdas/adapters/opensearch/external-version.ts'
import { applySearchParameter, recordUnindexable } from '../../../lambdas/indexing/lifecycle/definitions.ts'
import {
  applyRestore,
  exclusiveInstantOf,
  type Restore,
  readSearchParameters,
  withRestoredIdentity,
} from '../../../lambdas/indexing/lifecycle/restore.ts'
import { addIndices, withIdentity } from '../../../lambdas/indexing/lifecycle/serving-indices.ts'
import type { SharedIndexState } from '../../../lambdas/indexing/lifecycle/state.ts'
import { statusOf } from '../../../lambdas/indexing/lifecycle/status.ts'
import { encode, NO_STATE } from '../../../lambdas/indexing/lifecycle/stored-state.ts'
import type { RebuildParts } from '../../../lambdas/indexing/rebuild/rebuild-parts.ts'
import { rebuildStep } from '../../../lambdas/indexing/rebuild/rebuild-steps.ts'
import { WORKFLOW } from '../../../lambdas/indexing/rebuild/workflow.ts'
import { indexStream } from '../../../lambdas/indexing/stream/index-stream.ts'
import { UnindexableVersions } from '../../../lambdas/indexing/stream/unindexable-versions.ts'
import { MachineFault } from '../../../lambdas/ports/faults.ts'
import { and } from '../../../lambdas/ports/search/plan.ts'
import type { IndexDocument } from '../../../lambdas/ports/search/search-index.ts'
import { nameOf } from '../../../lambdas/ports/store/newest-versions.ts'
import type { ResourceKey, ResourceVersion, ScanRequest, Write } from '../../../lambdas/ports/store/resource-store.ts'
import { createTestIndex } from '../../engines/opensearch-index.ts'
import { runAtEnd } from '../../fixtures/at-end.ts'
import { runOnDynamo } from '../../fixtures/dynamodb/on-dynamo.ts'
import { TestTable } from '../../fixtures/dynamodb/store.ts'
import { EXPRESSIONS } from '../../fixtures/expressions.ts'
import { fault } from '../../fixtures/machine-fault.ts'
import { memoryIndexState } from '../../fixtures/memory-index-state.ts'
import { patient } from '../../fixtures/resources.ts'
import { deletionOf, patientKeyOf, resourceKeyOf, versionOf, writeOf } from '../../fixtures/versions.ts'

const DAY = 24 * 60 * 60_000
const NOW = Date.now()
/** Time of the restore: long enough ago that the previous store shows all its writes. */
const AT = NOW - 2 * 60_000
/** The restored instant: some days ago, so that a margin of one day includes no earlier writes. */
const INSTANT = NOW - 5 * DAY

/** An index as the functions of an epoch see it. */
type Epoch = Pick<RebuildParts['index'], 'applyAgain' | 'show'> & { readonly apply: (documents: readonly IndexDocument[]) => Promise<void> }
type Indices = {
  readonly state: SharedIndexState
  readonly of: (epoch: number) => Epoch
  /** Resources of a type of a tenant that functions of an epoch find: `ID VERSION`. */
  readonly found: (epoch: number, tenant: string, type: string) => Promise<readonly string[]>
}

/** An index with external versions as in OpenSearch. */
function inMemory(): Indices {
  const state = memoryIndexState()
  const documents = new Map<string, { readonly document: IndexDocument; readonly version: number }>()
  /** Types with new documents that searches do not see yet. */
  const unseen = new Set<string>()
  const applying = (epoch: number, least: number) => async (some: readonly IndexDocument[]) => {
    await state.change((each) => addIndices(withIdentity(each, 'first'), [...new Set(some.map(({ type }) => type))], 'first'))
    for (const document of some) {
      const version = externalVersion(epoch, document.version)
      if ((documents.get(nameOf(document))?.version ?? -1) + least <= version) documents.set(nameOf(document), { document, version })
    }
  }
  return {
    state,
    of: (epoch) => ({
      apply: applying(epoch, 1),
      async applyAgain(some) {
        for (const { type } of some) unseen.add(type)
        await applying(epoch, 0)(some)
      },
      show: async (type) => void unseen.delete(type),
    }),
    async found(epoch, tenant, type) {
      const { live } = encode((await state.read()).value)
      expect([...unseen]).toEqual([])
      if ((live?.epoch ?? 0) !== epoch || live?.ahead?.includes(type) || live?.lacking.includes(type))
        throw new MachineFault('unavailable', 'not searched')
      const mine = [...documents.values()].filter(({ document: each }) => each.tenant === tenant && each.type === type && !each.deleted)
      return mine.map(({ document: { id }, version }) => `${id} ${resourceVersionOf(version)}`)
    },
  }
}

function onEngine(endpoint: string): Indices {
  const open = createTestIndex(endpoint)
  runAtEnd(() => open.close())
  const of = (epoch: number) => open.another({ epoch })
  return {
    state: open.state,
    of,
    async found(epoch, tenant, type) {
      const plan = { tenant, types: [type], where: and(), access: 'everything', order: [], limit: 2_000, total: 'none' } as const
      return (await of(epoch).find(plan)).hits.map(({ id, version }) => `${id} ${version}`)
    },
  }
}

const endpoint = process.env.OPENSEARCH_ENDPOINT
const kinds: readonly (readonly [string, () => Indices])[] = [
  ['in memory', inMemory],
  ...(endpoint === undefined ? [] : [['of OpenSearch', () => onEngine(endpoint)] as const]),
]

const family = (name: string): object => patient('x', { family: name })
const parameter = (id: string): object => ({
  ...{ resourceType: 'SearchParameter', id, url: `http://example.org/${id}`, name: id, status: 'active', code: id },
  ...{ base: ['Patient'], type: 'string', expression: 'Patient.name.given' },
})
const parameterOf = (id: string): ResourceKey => resourceKeyOf('t', 'SearchParameter', id)

await runOnDynamo((engine) => {
  runAtEnd(() => engine.stop())

  describe.each(kinds)('an index %s of a restored store', (_, open) => {
    let indices: Indices
    let table: TestTable
    let store: DynamoDbResourceStore
    let restored: DynamoDbResourceStore
    let time: number
    const remade: string[] = []

    /** Writes to the store and delivers the versions through the stream. */
    const write = async (to: DynamoDbResourceStore, epoch: number, ...writes: readonly Write[]) => {
      expect(await to.commit(writes, [])).toEqual({ kind: 'committed' })
      const versions = writes.map(versionOf)
      const parameters = versions.filter(({ type }) => type === 'SearchParameter')
      await indices.state.change((state) => parameters.reduce(applySearchParameter, state))
      const changes = versions.map((version, i) => ({ sequence: String(i), version }))
      const parts = { index: indices.of(epoch), reading: () => ({}), expressions: EXPRESSIONS, onPoison: () => undefined }
      expect(await indexStream(changes, parts)).toEqual([])
    }
    const change = (key: ResourceKey, expected: number, body: object = family('Later')): Write =>
      writeOf(key, { expected, body, lastUpdated: ++time })
    const end = (key: ResourceKey, expected: number): Write => deletionOf(key, { expected, lastUpdated: ++time })

    /** Restores like DynamoDB: copies all current items into another table. */
    const copyOf = async (from: TestTable): Promise<DynamoDbResourceStore> => {
      const to = await TestTable.create(engine)
      const { Items: items = [] } = await engine.client.send(new ScanCommand({ TableName: from.name, ConsistentRead: true }))
      for (let at = 0; at < items.length; at += 25) {
        const puts = items.slice(at, at + 25).map((Item) => ({ PutRequest: { Item } }))
        await engine.client.send(new BatchWriteCommand({ RequestItems: { [to.name]: puts } }))
      }
      return to.store({ mostActions: 100 })
    }

    beforeEach(async () => {
      indices = open()
      table = await TestTable.create(engine)
      store = table.store({ mostActions: 100 })
      remade.length = 0
      mostAtOnce = 0
      shown = undefined
      time = INSTANT - DAY * 5
      await write(store, 0, change(patientKeyOf('same'), 0), change(patientKeyOf('back'), 0), change(patientKeyOf('ended'), 0))
      await write(store, 0, change(patientKeyOf('risen'), 0), change(resourceKeyOf('t', 'Basic', 'same'), 0, { resourceType: 'Basic' }))
      await write(store, 0, end(patientKeyOf('risen'), 1), change(parameterOf('kept'), 0, parameter('kept')))
      restored = await copyOf(table)
      time = INSTANT
      for (const expected of [1, 2, 3]) await write(store, 0, change(patientKeyOf('back'), expected))
      await write(store, 0, end(patientKeyOf('ended'), 1), change(patientKeyOf('risen'), 2), change(patientKeyOf('gone'), 0))
      await write(store, 0, end(parameterOf('kept'), 1), change(parameterOf('lost'), 0, parameter('lost')))
      await write(store, 0, change(patientKeyOf('other', 'late'), 0))
    })

    let [underWay, mostAtOnce] = [0, 0]
    /** The previous store shows writes until this time. */
    let shown: number | undefined
    /** Runs before a page is read. */
    let reading: () => Promise<void> = async () => undefined
    const former: Pick<DynamoDbResourceStore, 'tenants' | 'history'> = {
      tenants: () => store.tenants(),
      async history(...asked) {
        mostAtOnce = Math.max(mostAtOnce, ++underWay)
        await reading()
        const page = await store.history(...asked).finally(() => underWay--)
        return shown === undefined ? page : { ...page, until: shown }
      },
    }

    /** Migrates like the function that runs in every deployment. */
    const migrate = async (restore: Restore, at = AT): Promise<void> => {
      const parameters = await readSearchParameters((await indices.state.read()).value, { resources: restored, now: NOW })
      await indices.state.change((kept) => {
        const known = withRestoredIdentity(restore.epoch, kept, 'fresh')
        const back = applyRestore(known, restore, 'fresh', at)
        return back === known ? known : parameters.reduce(applySearchParameter, back)
      })
    }

    const step = (epoch: number, execution = 'e') =>
      rebuildStep({
        ...{ state: indices.state, resources: restored, former: () => former, epoch, newIdentity: () => 'fresh', extraction: 'now' },
        index: {
          removeKept: async () => undefined,
          show: (type: string) => indices.of(epoch).show(type),
          rebuild: () => Promise.reject(new Error('nothing is made anew')),
          async applyAgain(documents: readonly IndexDocument[]) {
            remade.push(...documents.map(({ tenant, type, id, version }) => `${tenant}/${type}/${id} ${version}`))
            await indices.of(epoch).applyAgain(documents)
          },
        },
        ...{
          reading: {},
          expressions: EXPRESSIONS,
          now: () => NOW,
          wait: 60,
          keepFor: 0,
          budget: -1,
          poisoned: new UnindexableVersions(indices.state),
        },
        announce: async () => undefined,
        addIdentifiers: async () => undefined,
      } as unknown as RebuildParts)({ action: 'next', workflow: WORKFLOW, execution, width: 2 })

    /** Whether nothing is left, or only rebuilds, which wait for functions to know the definitions. */
    const isReconciled = (result: object): boolean => !('wait' in result) || result.wait === 60

    /** Catches up slice by slice until only rebuilds are left. Returns the number of slices. */
    const caughtUp = async (epoch: number): Promise<number> => {
      for (let slices = 1; slices < 100; slices++) {
        if (isReconciled(await step(epoch))) return slices
      }
      throw new Error('it never ends')
    }

    const heads = async (of: DynamoDbResourceStore, tenant: string, type: string): Promise<readonly string[]> => {
      const found: ResourceVersion[] = []
      for await (const { versions } of of.scan({ tenant, type, asOf: Date.now() + DAY, limit: 100 })) found.push(...versions)
      return found.map(({ id, versionId }) => `${id} ${versionId}`).toSorted()
    }

    const expectWhole = async (epoch: number): Promise<void> => {
      for (const tenant of ['t', 'late'])
        for (const type of ['Patient', 'Basic', 'SearchParameter'])
          expect([tenant, type, (await indices.found(epoch, tenant, type)).toSorted()]).toEqual([
            tenant,
            type,
            await heads(restored, tenant, type),
          ])
    }

    const RESTORE = { epoch: 1, store: 'restored', instant: INSTANT, former: 'former' }

    it('indexes only later versions again, and continues from there', async () => {
      await migrate(RESTORE)
      for (const type of ['Patient', 'Basic']) await expect(indices.found(1, 't', type)).rejects.toThrow(fault('unavailable'))
      await caughtUp(1)
      expect(remade.toSorted()).toEqual([
        'late/Patient/other 0',
        't/Patient/back 1',
        't/Patient/ended 1',
        't/Patient/gone 0',
        't/Patient/risen 2',
        't/SearchParameter/kept 1',
        't/SearchParameter/lost 0',
      ])
      await expectWhole(1)
      time = NOW
      await write(restored, 1, change(patientKeyOf('back'), 1), change(patientKeyOf('gone'), 0), end(patientKeyOf('same'), 1))
      await write(restored, 1, change(patientKeyOf('other', 'late'), 0))
      await expectWhole(1)
    })

    it('waits for writes that the previous store does not show yet', async () => {
      await migrate(RESTORE, NOW)
      shown = NOW - 1
      for (let asked = 0; asked < 9; asked++) expect(await step(1)).toEqual({ follows: 'wait', wait: 3 })
      expect(remade).toEqual([])
      await expect(indices.found(1, 't', 'Patient')).rejects.toThrow(fault('unavailable'))
      shown = NOW
      await caughtUp(1)
      await expectWhole(1)
    })

    it('is not searched by functions of another epoch', async () => {
      await expect(indices.found(1, 't', 'Patient')).rejects.toThrow(fault('unavailable'))
      await migrate(RESTORE)
      await caughtUp(1)
      await expect(indices.found(0, 't', 'Patient')).rejects.toThrow(fault('unavailable'))
      await expect(migrate({ ...RESTORE, epoch: 0 })).rejects.toThrow('epoch 0 is over')
      await expect(caughtUpStep(0)).rejects.toThrow('the index is of epoch 1, this function of 0')
    })
    const caughtUpStep = async (epoch: number): Promise<unknown> => {
      await indices.state.change((state) => applyRestore(state, { ...RESTORE, epoch: 2, former: 'restored' }, 'fresh', NOW))
      await indices.state.change((state) => ({ ...state, epoch: 1 }))
      return step(epoch)
    }

    it('accepts writes of its epoch while it catches up, in any order', async () => {
      await migrate(RESTORE)
      time = NOW
      await write(restored, 1, change(patientKeyOf('back'), 1), change(patientKeyOf('gone'), 0))
      await caughtUp(1)
      await expectWhole(1)
    })

    it('takes definitions from the store, and forgets unindexable versions that no longer exist', async () => {
      await indices.state.change((state) => recordUnindexable(state, { ...patientKeyOf('back'), versionId: 4 }, 'TypeError'))
      const defined = async () => (await indices.state.read()).value.definitions.map(({ id }) => id)
      expect(await defined()).toEqual(['lost'])
      await migrate(RESTORE)
      expect(await defined()).toEqual(['kept'])
      await caughtUp(1)
      expect((await indices.state.read()).value.poisoned).toEqual([])
    })

    it('continues at its position, page by page', async () => {
      const many = Array.from({ length: 520 }, (_, i) => change(patientKeyOf(`m${i}`), 0))
      for (let at = 0; at < many.length; at += 65) await write(store, 0, ...many.slice(at, at + 65))
      await migrate(RESTORE)
      expect(await caughtUp(1)).toBeGreaterThan(1)
      expect(remade.filter((name) => name.startsWith('t/Patient/m'))).toHaveLength(520)
      await expectWhole(1)
    })

    it('is handled by one execution, and by none after another restore', async () => {
      await migrate(RESTORE)
      await step(1)
      const before = remade.length
      await step(1, 'another')
      expect(remade).toHaveLength(before)
      const known = encode((await indices.state.read()).value)
      reading = async () => {
        reading = async () => undefined
        await indices.state.change((state) => {
          const types = Object.entries(state.types).map(([type, { reached: _, ...index }]) => [type, index] as const)
          return { ...state, types: Object.fromEntries(types), setBack: { ...state.setBack!, at: NOW + 1 } }
        })
      }
      await step(1)
      const { live, setBack: left } = encode((await indices.state.read()).value)
      expect([left, live!.ahead]).toEqual([{ ...known.setBack, at: NOW + 1, reached: {} }, known.live!.ahead])
    })

    it('moves back the start of the outdated period that an upgrade left', async () => {
      await migrate(RESTORE)
      const outdated = { extraction: 'before', since: NOW }
      await indices.state.change((state) => {
        const types = { ...state.types, Patient: { ...state.types.Patient, outdated } }
        return { ...state, extraction: 'now', types }
      })
      await caughtUp(1)
      expect(encode((await indices.state.read()).value).behind!.Patient!.since).toBeLessThan(INSTANT)
    })

    it('catches up with several types at once, and reports each as not searched', async () => {
      const types = ['Basic', 'Patient'] as const
      for (const resourceType of types) {
        const many = Array.from({ length: 520 }, (_, i) => change(resourceKeyOf('t', resourceType, `m${i}`), 0, { resourceType }))
        for (let at = 0; at < many.length; at += 65) await write(store, 0, ...many.slice(at, at + 65))
      }
      await migrate(RESTORE)
      const told = async () => {
        const { rebuilds } = statusOf((await indices.state.read()).value, 't')
        return types.map((of) => rebuilds.find(({ type, isSearched }) => type === of && isSearched === false))
      }
      const unsearched = (done: readonly number[]) => types.map((type, i) => ({ type, done: done[i], total: 100, isSearched: false }))
      expect(await told()).toEqual(unsearched([0, 0]))
      const shares: number[][] = []
      while (shares.length < 100) {
        if (isReconciled(await step(1))) break
        const both = (await told()).map((each) => each!.done)
        expect(await told()).toEqual(unsearched(both))
        shares.push(both)
      }
      // One page of each type in each slice.
      expect(shares).toHaveLength(3)
      for (const [i, both] of shares.entries())
        for (const [n, done] of both.entries()) expect(done).toBeGreaterThan(shares[i - 1]?.[n] ?? 0)
      expect(mostAtOnce).toBeGreaterThan(1)
      expect(await told()).toEqual([undefined, undefined])
      await expectWhole(1)
    })

    it('is rebuilt if the previous store may hide versions, or is gone', async () => {
      const open = {
        sk: 'T',
        state: 'PENDING',
        deadline: 0,
        since: 0,
        lu: INSTANT + 1,
        chunks: 1,
        gpk: 'TXN#open',
        tenant: 't',
        id: 'open',
      }
      const items = [
        { pk: 't#TXN#open', ...open, gsk: `${'0'.repeat(15)}#open` },
        { pk: 't#OPEN', sk: 'open', lu: INSTANT + 1 },
      ]
      const puts = items.map((Item) => ({ PutRequest: { Item } }))
      await engine.client.send(new BatchWriteCommand({ RequestItems: { [table.name]: puts } }))
      await migrate(RESTORE)
      await caughtUp(1)
      const { live, setBack: left } = encode((await indices.state.read()).value)
      expect([live!.lacking.toSorted(), live!.ahead, left]).toEqual([['Basic', 'Patient', 'SearchParameter'], [], undefined])
      await migrate({ epoch: 2, store: 'again', instant: INSTANT })
      const after = encode((await indices.state.read()).value)
      expect([after.live!.epoch, after.live!.lacking.toSorted()]).toEqual([2, ['Basic', 'Patient', 'SearchParameter']])
    })
  })
})

describe('The period that another store may know of', () => {
  const HOUR = 60 * 60_000
  const first = withIdentity(NO_STATE, 'a')

  it('is empty before the first restore, and then ends an hour after it', () => {
    expect(exclusiveInstantOf(NO_STATE, 0)).toBe(0)
    const back = applyRestore(first, { epoch: 1, store: 'restored', instant: INSTANT, former: 'former' }, 'b', NOW)
    expect(exclusiveInstantOf(back, 1)).toBe(NOW + HOUR)
    const again = applyRestore(back, { epoch: 2, store: 'former', instant: INSTANT }, 'c', NOW + DAY)
    expect(exclusiveInstantOf(again, 2)).toBe(NOW + DAY + HOUR)
  })

  it('is unlimited for another epoch and for an unknown time of restore', () => {
    const back = applyRestore(first, { epoch: 1, store: 'restored', instant: INSTANT }, 'b', NOW)
    const { setBackAt: _, ...forgotten } = back
    expect([exclusiveInstantOf(NO_STATE, 1), exclusiveInstantOf(back, 0), exclusiveInstantOf(forgotten, 1)]).toEqual([
      Infinity,
      Infinity,
      Infinity,
    ])
  })
})

describe('a state without an index behind a restored store', () => {
  it('treats all types as lost', () => {
    const { live, rebuilds } = encode(withRestoredIdentity(1, NO_STATE, 'a'))
    expect([live!.lacking.includes('Patient'), rebuilds.some(({ type }) => type === 'Patient')]).toEqual([true, true])
    expect(encode(withRestoredIdentity(0, NO_STATE, 'a')).live!.lacking).toEqual([])
  })

  it('retains the definition of a SearchParameter that cannot be read', async () => {
    const key = parameterOf('kept')
    const damage = new MachineFault('store-damaged', 'a body is gone')
    const { definitions } = applySearchParameter(NO_STATE, versionOf(writeOf(key, { body: parameter('kept') })))
    const resources = {
      async *tenants() {
        yield 't'
      },
      async *scan({ tellsDamaged }: ScanRequest) {
        if (tellsDamaged !== true) throw damage
        yield { versions: [], damaged: [{ ...key, versionId: 1, deleted: false, damage }] }
      },
    }
    expect([definitions.length, await readSearchParameters({ definitions }, { resources, now: NOW })]).toEqual([1, []])
  })

  it('reads the SearchParameters of several tenants at the same time, and returns them in the order of the store', async () => {
    const parameter = (tenant: string) => versionOf(writeOf(resourceKeyOf(tenant, 'SearchParameter', 'x'), {}))
    const second = Promise.withResolvers<void>()
    const resources = {
      async *tenants() {
        yield* ['b', 'a']
      },
      async *scan({ tenant }: ScanRequest) {
        if (tenant === 'a') second.resolve()
        else await second.promise
        yield { versions: [parameter(tenant)] }
      },
    }
    const found = await readSearchParameters({ definitions: [] }, { resources, now: NOW })
    expect(found.map(({ tenant }) => tenant)).toEqual(['b', 'a'])
  })

  it('rebuilds types it had not caught up with at the next restore', () => {
    const before = addIndices(withIdentity(NO_STATE, 'a'), ['Patient', 'Basic'], 'a')
    const once = applyRestore(before, { epoch: 1, store: 'g', instant: INSTANT, former: 'f' }, 'b', NOW)
    const half = { ...once, types: { ...once.types, Patient: { identity: 'a' } } }
    const { live, setBack: left } = encode(applyRestore(half, { epoch: 2, store: 'h', instant: INSTANT, former: 'g' }, 'c', NOW))
    expect([live!.epoch, live!.lacking, live!.ahead, left!.former]).toEqual([2, ['Basic'], ['Patient'], 'g'])
  })

  it('stops the work that an execution began before the restore', () => {
    const busy = { ...addIndices(withIdentity(NO_STATE, 'a'), ['Patient'], 'a'), worker: { execution: 'e', at: NOW } }
    const rebuilds = [{ tenant: 't', type: 'Patient', done: 3, total: 9, taken: 'e' }]
    const after = applyRestore({ ...busy, rebuilds }, { epoch: 1, store: 'g', instant: INSTANT, former: 'f' }, 'b', NOW)
    expect([after.worker, after.rebuilds]).toEqual([undefined, [{ tenant: 't', type: 'Patient', done: 0, total: -1 }]])
    expect(after.setBack).toEqual({ former: 'f', since: INSTANT - 3_600_000, at: NOW })
    expect(applyRestore(after, { epoch: 1, store: 'g', instant: 0 }, 'c', NOW)).toBe(after)
  })
  describe('with the name of its store', () => {
    const known = applyRestore(withIdentity(NO_STATE, 'a'), { epoch: 0, store: 'f', instant: 0 }, 'b', NOW)
    const once = applyRestore(known, { epoch: 1, store: 'g', instant: INSTANT, former: 'f' }, 'b', NOW)
    const again = (restore: Partial<Restore>) => () => applyRestore(once, { epoch: 1, store: 'g', instant: INSTANT, ...restore }, 'c', NOW)

    it('rejects another table in the same epoch', () => {
      expect([known.store, once.store]).toEqual(['f', 'g'])
      expect(again({ store: 'h', former: 'g' })).toThrow('the index is of g in epoch 1: h is another table, and has one more')
    })

    it('accepts only that store as the previous one', () => {
      expect(again({ epoch: 2, store: 'h', former: 'f' })).toThrow('the index is of g, and not of f: without restored.former')
      expect(again({ epoch: 2, store: 'h', former: 'g' })()).toMatchObject({ store: 'h', setBack: { former: 'g' } })
      expect(encode(again({ epoch: 2, store: 'h' })())).toMatchObject({ store: 'h', live: { epoch: 2, ahead: [] } })
    })
  })
})
