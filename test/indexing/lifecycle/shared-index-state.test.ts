/** The index state in its root and in rows of tenants. */
import { deflateRawSync } from 'node:zlib'
import { describe, expect, it } from '@jest/globals'
import { resourceTypes } from '../../../lambdas/fhir/resource-types.ts'
import { type CustomParameter, TOO_MANY_PARAMETERS } from '../../../lambdas/indexing/custom-definitions.ts'
import * as definitions from '../../../lambdas/indexing/lifecycle/definitions.ts'
import { changeFormat, recordMissedVersions } from '../../../lambdas/indexing/lifecycle/index-retention.ts'
import * as queue from '../../../lambdas/indexing/lifecycle/rebuild-queue.ts'
import { addIndices, markLost, withIdentity } from '../../../lambdas/indexing/lifecycle/serving-indices.ts'
import { decodeSummary, encodeSummary } from '../../../lambdas/indexing/lifecycle/serving-summary.ts'
import { changeByTenant, moveTenantParts, openIndexState } from '../../../lambdas/indexing/lifecycle/shared-index-state.ts'
import { ALL_REBUILDS, type IndexState, type SharedIndexState, type StateScope } from '../../../lambdas/indexing/lifecycle/state.ts'
import { statusOf } from '../../../lambdas/indexing/lifecycle/status.ts'
import { encode, NO_STATE, NO_STORED_STATE, type StoredState } from '../../../lambdas/indexing/lifecycle/stored-state.ts'
import { MAX_WRITTEN_ROWS } from '../../../lambdas/ports/rows/shared-rows.ts'
import { randomOf } from '../../contracts/generated-search.ts'
import { caseCountOf, firstSeed } from '../../fixtures/long-runs.ts'
import { memoryIndexState, memoryStoredState, servingStateOf } from '../../fixtures/memory-index-state.ts'
import { deletionOf, patientKeyOf, resourceKeyOf, versionOf, writeOf } from '../../fixtures/versions.ts'

const ALL: StateScope = { definitions: 'all', poisoned: 'all', rebuilds: 'all' }
const IN_ROWS: StoredState = { ...NO_STORED_STATE, rows: true }

const parameter = (tenant: string, code: string, type = 'Patient') =>
  versionOf(
    writeOf(resourceKeyOf(tenant, 'SearchParameter', code), {
      body: {
        resourceType: 'SearchParameter', id: code, url: `http://example.org/${code}`, status: 'active', code, base: [type], type: 'token',
        expression: `${type}.extension.where(url = 'http://example.org/extension/${code}').value.ofType(CodeableConcept)`,
      }, // biome-ignore format: one resource
    }),
  )
const define = (state: SharedIndexState, tenant: string, ...codes: readonly string[]) =>
  state.change((each) => codes.reduce((now, code) => definitions.applySearchParameter(now, parameter(tenant, code)), each), {
    definitions: [tenant],
    poisoned: [tenant],
  })

const indexed = (state: IndexState): IndexState => ({
  ...addIndices(withIdentity(state, 'a'), ['Patient', 'Basic'], 'a'),
  extraction: '1 1 {}',
})

const takingBy = (execution: string) => ({ execution, width: 2, steps: 5 })

const sizeOf = (value: unknown): number => deflateRawSync(JSON.stringify(value)).length
const ofTenant = (tenant: string): StateScope => ({ definitions: [tenant], poisoned: [tenant], rebuilds: [tenant] })

/** A root of the parent release with definitions, unindexable versions and taken rebuilds of 60 tenants. */
function largeRoot(): { readonly root: StoredState; readonly tenants: readonly string[] } {
  const tenants = Array.from({ length: 60 }, (_, i) => `tenant-${i}`)
  const filled = tenants.reduce((state, tenant, i) => {
    const codes = Array.from({ length: 5 }, (_, n) => `code-${i}-${n}`)
    const defined = codes.reduce((now, code) => definitions.applySearchParameter(now, parameter(tenant, code)), state)
    return definitions.recordUnindexable(defined, { ...patientKeyOf('p', tenant), versionId: i }, 'TypeError')
  }, indexed(NO_STATE))
  const taken = queue.takeRebuilds(queue.requestNewIndices(filled, ['Basic']), takingBy('one'), 7)
  const { attempts: _, ...stored } = encode(queue.requestRebuild(taken, 'tenant-3', ['Patient']))
  return { root: JSON.parse(JSON.stringify(stored)), tenants }
}

describe('A root of the parent release', () => {
  it('stays whole until functions of that release have ended, although it is large', async () => {
    const { root } = largeRoot()
    const stored = memoryStoredState({ ...root, rowsFrom: 10 })
    const state = openIndexState(stored, () => 9)
    await moveTenantParts(state)
    await define(state, 'another', 'x')
    expect([stored.stored().definitions.length, stored.values.size]).toEqual([root.definitions.length + 1, 0])
  })

  it('divides then, and each tenant keeps its definitions, failures and rebuilds', async () => {
    const { root, tenants } = largeRoot()
    const stored = memoryStoredState({ ...root, rowsFrom: 10 })
    const state = openIndexState(stored, () => 10)
    const before = (await state.read()).value
    await moveTenantParts(state)
    const { definitions: left, rebuilds, poisoned, live } = stored.stored()
    expect([left, rebuilds, poisoned, live]).toEqual([[], root.rebuilds.filter(({ tenant }) => tenant === ''), [], root.live])
    expect(sizeOf(stored.stored())).toBeLessThan(1_600)
    for (const tenant of tenants) {
      const { value } = await state.read(ofTenant(tenant))
      expect({ ...statusOf(value, tenant), rebuilds: [] }).toEqual({ ...statusOf(before, tenant), rebuilds: [] })
      const mine = before.rebuilds.filter((each) => each.tenant === tenant || each.tenant === '')
      expect(value.rebuilds.toSorted(byTenant)).toEqual(mine.toSorted(byTenant))
    }
    expect((await state.read(ALL)).value.rebuilds.filter(({ taken }) => taken === undefined)).toMatchObject([{ tenant: 'tenant-3' }])
  })

  it('moves the rest with the next call if the first one is late', async () => {
    const { root, tenants } = largeRoot()
    const stored = memoryStoredState({ ...root, rowsFrom: 0 })
    const state = openIndexState(stored, () => 1)
    await moveTenantParts(state, () => true)
    const left = () => new Set(stored.stored().definitions.map(({ tenant }) => tenant)).size
    expect(left()).toBe(tenants.length - 15)
    await moveTenantParts(state)
    expect(left()).toBe(0)
  })

  it('divides by a small change too, and by no change of more tenants than fit into one write', async () => {
    const { root } = largeRoot()
    const stored = memoryStoredState({ ...root, rowsFrom: 0 })
    const state = openIndexState(stored, () => 1)
    await state.change((each) => queue.takeRebuilds(queue.restartAllRebuilds(each), takingBy('two'), 1e9), ALL_REBUILDS)
    expect([stored.stored().rows, stored.values.size]).toEqual([undefined, 0])
    await define(state, 'another', 'x')
    expect(stored.stored().rows).toBe(true)
    expect(stored.stored().definitions).toHaveLength(root.definitions.length)
    expect([...stored.values.keys()].toSorted()).toEqual(['D#another', expect.stringMatching(/^F#/), 'W#another'])
  })

  it('is read whole by functions until a summary exists', async () => {
    const { root } = largeRoot()
    const serving = servingStateOf(memoryStoredState(root))
    const state = await serving.read()
    expect(await serving.definitionsOf('tenant-7', state)).toHaveLength(5)
  })
})

const SEEDS = caseCountOf(15, 1_000)

const byTenant = (a: { readonly tenant: string; readonly type: string }, b: { readonly tenant: string; readonly type: string }): number =>
  `${a.tenant} ${a.type}` < `${b.tenant} ${b.type}` ? -1 : 1

describe('A release that reads no rows', () => {
  it('finds the root, and its entries replace those of the rows', async () => {
    const stored = memoryStoredState(IN_ROWS)
    const state = memoryIndexState(stored)
    await state.change(indexed)
    await define(state, 'one', 'nick', 'mark')
    const root = stored.stored()
    expect(root).toMatchObject({ live: { identity: 'a', types: { Patient: 'a', Basic: 'a' } }, definitions: [], rebuilds: [] })
    const own = definitions.applySearchParameter(NO_STATE, parameter('one', 'nick', 'Observation'))
    stored.replaceRoot({ ...root, definitions: own.definitions, rebuilds: own.rebuilds })
    const codes = async () => {
      const { value, isForeign } = await state.read(ofTenant('one'))
      return [isForeign, ...value.definitions.map(({ id, mapping }) => `${id} ${mapping.base}`), ...value.rebuilds.map(({ type }) => type)]
    }
    expect(await codes()).toEqual([true, 'mark Patient', 'nick Observation', 'Patient', 'Observation'])
    await moveTenantParts(state)
    expect(await codes()).toEqual([false, 'mark Patient', 'nick Observation', 'Patient', 'Observation'])
    expect(stored.stored().definitions).toEqual([])
    // Until a migration applies all SearchParameters again.
    expect((await state.read()).value.redefine).toBe('all')
  })

  it('finds the rebuilds for all tenants, so it continues them', async () => {
    const stored = memoryStoredState(IN_ROWS)
    const state = memoryIndexState(stored)
    await state.change(indexed)
    await state.change((each) => queue.requestRebuild(each, 'one', ['Basic']))
    await state.change((each) => markLost(each, { Patient: 'a' }, 'b'))
    await moveTenantParts(state)
    expect(stored.stored().rebuilds).toEqual([{ tenant: '', type: 'Patient', done: 0, total: -1 }])
  })

  it('has its last write shown in the summary by the next change, also by one that changes nothing', async () => {
    const stored = memoryStoredState()
    const state = memoryIndexState(stored)
    await state.change(indexed)
    const { live, ...root } = stored.stored()
    stored.replaceRoot({ ...root, live: { ...live!, types: { Patient: 'b' } } })
    await state.change((each) => each)
    expect((await servingStateOf(stored).read()).value.types).toEqual({ Patient: { identity: 'b' } })
    const { number } = await state.read()
    await state.change((each) => each)
    expect((await state.read()).number).toBe(number)
  })
})

describe('Rows of tenants', () => {
  it('are read before their entries change', async () => {
    const state = memoryIndexState(memoryStoredState(IN_ROWS))
    await state.change((each) => queue.requestNewIndices(each, ['Basic']))
    await state.change((each) => queue.requestNewIndices(each, ['Patient']))
    await state.change((each) => queue.requestRebuild(each, 'one', ['Patient']))
    await state.change((each) => queue.requestRebuild(each, 'one', ['Basic']))
    expect((await state.read(ALL_REBUILDS)).value.rebuilds.map(({ tenant, type }) => `${tenant} ${type}`).toSorted()).toEqual([
      ...[' Basic', ' Patient', 'one Basic', 'one Patient'],
    ])
  })

  it('share the index fields of all tenants, and equal definitions use them once', async () => {
    const state = memoryIndexState(memoryStoredState(IN_ROWS))
    const codes = Array.from({ length: 190 }, (_, i) => `c${i}`)
    const others = codes.map((code) => `other-${code}`)
    await define(state, 'one', ...codes)
    await define(state, 'equal', ...codes)
    const { value } = await define(state, 'two', ...others)
    // A token uses eight of 3,000 fields.
    const rejected = value.poisoned.filter(({ tenant, reason }) => tenant === 'two' && reason === TOO_MANY_PARAMETERS)
    expect([value.definitions.length, rejected.length]).toEqual([375 - 190, 190 - (375 - 190)])
    const { elsewhere } = (await state.read({ definitions: ['two'], capacity: true })).value
    expect(elsewhere).toHaveLength(190)
    for (const tenant of ['one', 'equal']) {
      const removed = codes.map((code) => versionOf(deletionOf(resourceKeyOf(tenant, 'SearchParameter', code), { expected: 1 })))
      await state.change((each) => removed.reduce(definitions.applySearchParameter, each), { definitions: [tenant], poisoned: [tenant] })
    }
    expect((await state.read({ definitions: ['two'], capacity: true })).value.elsewhere).toEqual([])
    expect((await define(state, 'two', others.at(-1)!)).value.definitions).toHaveLength(375 - 190 + 1)
  })

  it('leave their definitions the space that those of other tenants take', async () => {
    const state = memoryIndexState(memoryStoredState(IN_ROWS))
    const [{ mapping }] = definitions.applySearchParameter(NO_STATE, parameter('t', 'x')).definitions as [CustomParameter]
    const random = randomOf(1)
    const digits = () => Array.from({ length: 10 }, () => random.below(2 ** 32).toString(36)).join('')
    const large = ['one', 'two', 'three'].map((tenant) =>
      Array.from({ length: 2_000 }, (_, i) => ({
        ...{ tenant, id: digits(), state: 'active' as const },
        mapping: { ...mapping, field: `${i}` },
      })),
    )
    for (const mine of large)
      await state.change((each) => ({ ...each, definitions: [...each.definitions, ...mine] }), { definitions: [mine[0]!.tenant] })
    expect(large.map(sizeOf).every((size) => size > 100_000)).toBe(true)
    const versions = ['one', 'two', 'three', 'four'].map((tenant) => parameter(tenant, 'y', 'Basic'))
    const apply = (each: IndexState, some: Readonly<typeof versions>) => some.reduce(definitions.applySearchParameter, each)
    await changeByTenant(state, versions, apply, ['definitions', 'poisoned'])
    const { value } = await state.read({ definitions: ['four'], poisoned: ['four'] })
    expect([value.definitions.map(({ id }) => id), value.poisoned]).toEqual([['y'], []])
  })

  it('are not begun for more tenants than fit into one write', async () => {
    const waiting = Array.from({ length: MAX_WRITTEN_ROWS + 1 }, (_, i) => ({ tenant: `t${i}`, type: 'Patient', done: 0, total: -1 }))
    const stored = memoryStoredState({ ...IN_ROWS, rebuilds: waiting })
    const state = memoryIndexState(stored)
    await state.change((each) => queue.takeRebuilds(each, takingBy('x'), 1), ALL_REBUILDS)
    const taken = async () => queue.rebuildsOfAttempt((await state.read(ALL_REBUILDS)).value, 'x~1~0').length
    expect([await taken(), stored.stored().rebuilds.length > 0, stored.values.size > 0]).toEqual([waiting.length, true, true])
    await moveTenantParts(state)
    expect([await taken(), stored.stored().rebuilds]).toEqual([waiting.length, []])
  })

  it('fit into one write if a parameter is on all types', async () => {
    const state = memoryIndexState(memoryStoredState(IN_ROWS))
    const tenants = Array.from({ length: 40 }, (_, i) => `t${i}`)
    const { mapping } = definitions.applySearchParameter(NO_STATE, parameter('t', 'all')).definitions[0]!
    const define = (each: IndexState, some: readonly { readonly tenant: string }[]): IndexState => {
      const added = some.flatMap(({ tenant }) =>
        resourceTypes.map((base) => ({ tenant, id: 'all', state: 'building', mapping: { ...mapping, base } }) as const),
      )
      return {
        ...each,
        definitions: [...each.definitions, ...added],
        rebuilds: [...each.rebuilds, { tenant: '', type: 'Patient', done: 0, total: -1 }],
      }
    }
    const entries = tenants.map((tenant) => ({ tenant }))
    const { value } = await changeByTenant(state, entries, define, ['definitions', 'poisoned', 'rebuilds'])
    expect(value.definitions).toHaveLength(40 * resourceTypes.length)
    expect((await state.read({ capacity: true })).value.elsewhere).toHaveLength(resourceTypes.length)
    expect(value.definitions.length).toBeGreaterThan(MAX_WRITTEN_ROWS)
  })

  it('show an attempt all waiting rebuilds but those that were requested again', async () => {
    const state = memoryIndexState(memoryStoredState(IN_ROWS))
    for (const tenant of ['one', 'two', 'three']) await state.change((each) => queue.requestRebuild(each, tenant, ['Patient', 'Basic']))
    await state.change((each) => queue.takeRebuilds(each, takingBy('x'), 1), ALL_REBUILDS)
    await state.change((each) => queue.requestRebuild(each, 'two', ['Patient']))
    await state.change((each) => queue.restartRebuild(each, 'x~1~0', 'Basic'))
    const taken = async () =>
      queue.rebuildsOfAttempt((await state.read(ALL_REBUILDS)).value, 'x~1~0').map(({ tenant, type }) => `${tenant} ${type}`)
    expect((await taken()).toSorted()).toEqual(['one Patient', 'three Patient'])
    await state.change((each) => recordMissedVersions(indexed(each), 5))
    expect(await taken()).toEqual([])
  })
})

describe('The summary', () => {
  const identities = (n: number) => n.toString(16).padStart(12, '7')
  it('shows identities and formats in at most 4 kB with its stamps, even if each type differs', () => {
    const types: IndexState['types'] = Object.fromEntries(
      resourceTypes.map((type, n) => [
        type,
        {
          identity: identities((n * 2_654_435_761) % 2 ** 40),
          ...(n % 2 === 0 ? { lost: true as const } : {}),
          ...(n % 3 === 0 ? { unreconciled: true as const } : {}),
          outdated: { extraction: `${n % 4} 1 {"baseUrl":"https://fhir.example.org/r4"}`, since: 0 },
          listed: n % 7,
        },
      ]),
    )
    const state: IndexState = {
      ...NO_STATE,
      identity: 'x',
      extraction: '9 1 {}',
      formatAt: 5,
      epoch: 2,
      uncovered: true,
      rows: true,
      types,
    }
    const summary = encodeSummary(state, false)
    expect(sizeOf(summary)).toBeLessThan(3_400)
    const shown = decodeSummary(JSON.parse(JSON.stringify(summary)))
    const { setBack: _, unknownLive: __, ...served } = state
    const shownTypes = Object.entries(types).map(([type, { listed, ...each }]) => [type, listed === 0 ? each : { ...each, listed }])
    expect(shown).toEqual({ ...served, types: Object.fromEntries(shownTypes) })
  })
})

/** Events with the scope that their callers use. */
type Event = readonly [change: (state: IndexState) => IndexState, scope?: StateScope]

function eventOf(random: ReturnType<typeof randomOf>, state: IndexState, now: number): Event {
  const [tenant, type, code] = [random.pick(['one', 'two', 'three']), random.pick(['Patient', 'Basic']), random.pick(['a', 'b', 'c'])]
  const attempt = state.rebuilds.find(({ taken }) => taken !== undefined)?.taken ?? 'none'
  const parts = { definitions: [tenant], poisoned: [tenant] }
  const format = random.pick(['1 1 {}', '2 1 {}'])
  const version = { ...resourceKeyOf(tenant, type, code), versionId: 1 + random.below(3) }
  const events: readonly Event[] = [
    [(each) => definitions.applySearchParameter(each, parameter(tenant, code, type)), parts],
    [
      (each) =>
        definitions.applySearchParameter(each, versionOf(deletionOf(resourceKeyOf(tenant, 'SearchParameter', code), { expected: 1 }))),
      parts,
    ],
    [(each) => definitions.recordUnindexable(each, version, 'TypeError'), { poisoned: [tenant] }],
    [
      (each) => definitions.clearUnindexable(each, versionOf(writeOf(version, { expected: version.versionId - 1 }))),
      { poisoned: [tenant] },
    ],
    [(each) => queue.requestRebuild(each, tenant, [type]), { rebuilds: [tenant] }],
    [(each) => queue.requestNewIndices(each, [type])],
    [(each) => queue.takeRebuilds(each, takingBy(`x${now}`), now + 1e9 * now), ALL_REBUILDS],
    [(each) => queue.restartRebuild(each, attempt, type)],
    [(each) => queue.recordTotals(each, attempt, type, new Map([[tenant, 9]])), ALL_REBUILDS],
    [(each) => queue.recordRebuildProgress(each, attempt, type, new Map([[tenant, 3]]), new Set([tenant])), { rebuilds: [tenant] }],
    [(each) => queue.recordStep(each, now)],
    [(each) => queue.finishAttempt(each, attempt, type), { definitions: ['one', 'two', 'three'], rebuilds: ['one', 'two', 'three'] }],
    [(each) => markLost(each, { [type]: each.types[type]?.identity }, `i${now}`)],
    [(each) => recordMissedVersions(each, now)],
    [(each) => changeFormat(each, format, now)],
  ]
  return random.pick(events)
}

const comparable = ({ definitions: defined, poisoned, rebuilds, elsewhere: _, rows: __, attempts: ___, ...root }: IndexState) => {
  const sorted = (list: readonly unknown[]) => list.map((each) => JSON.stringify(each, Object.keys(each as object).toSorted())).toSorted()
  return JSON.parse(
    JSON.stringify({
      ...root,
      defined: sorted(defined.map(({ mapping, ...each }) => ({ ...each, field: `${mapping.base} ${mapping.field}` }))),
      poisoned: sorted(poisoned),
      rebuilds: sorted(rebuilds),
    }),
  )
}

it('The state is the same in the root, in rows, and while it moves, after any events', async () => {
  const counts = { moved: 0 }
  for (let seed = firstSeed(); seed < firstSeed() + SEEDS; seed++) {
    const random = randomOf(seed)
    const moving = memoryStoredState()
    const [root, rows, mixed] = [memoryIndexState(), memoryIndexState(memoryStoredState(IN_ROWS)), memoryIndexState(moving)]
    for (const each of [root, rows, mixed]) await each.change(indexed)
    const from = 1 + random.below(30)
    for (let i = 1; i <= 30; i++) {
      const [change, scope] = eventOf(random, (await root.read()).value, i)
      for (const each of [root, rows, mixed]) await each.change(change, scope)
      if (i === from) await mixed.change((each) => ({ ...each, rows: true }))
      const expected = comparable((await root.read()).value)
      expect([seed, i, comparable((await rows.read(ALL)).value)]).toEqual([seed, i, expected])
      expect([seed, i, comparable((await mixed.read(ALL)).value)]).toEqual([seed, i, expected])
    }
    await moveTenantParts(mixed)
    expect(comparable((await mixed.read(ALL)).value)).toEqual(comparable((await root.read()).value))
    counts.moved += moving.stored().definitions.length === 0 ? 1 : 0
  }
  expect(counts.moved).toBe(SEEDS)
})
