/**
 * Random sequences of events: the transitions store what those of commit 20ac3e6e stored, and the two may alternate. Only the order of types
 * within a map or set may differ. Remove this file and test/fixtures/index-state-before with the next change of the transitions.
 */
import { isDeepStrictEqual } from 'node:util'
import { describe, expect, it } from '@jest/globals'
import * as definitions from '../../../lambdas/indexing/lifecycle/definitions.ts'
import * as retention from '../../../lambdas/indexing/lifecycle/index-retention.ts'
import * as queue from '../../../lambdas/indexing/lifecycle/rebuild-queue.ts'
import * as restore from '../../../lambdas/indexing/lifecycle/restore.ts'
import * as serving from '../../../lambdas/indexing/lifecycle/serving-indices.ts'
import { type IndexState, typesWith } from '../../../lambdas/indexing/lifecycle/state.ts'
import { statusOf } from '../../../lambdas/indexing/lifecycle/status.ts'
import { decode, encode, NO_STORED_STATE, type StoredState } from '../../../lambdas/indexing/lifecycle/stored-state.ts'
import { identityOf, isServing } from '../../../lambdas/ports/search/serving-indices.ts'
import type { ResourceVersion } from '../../../lambdas/ports/store/resource-store.ts'
import { type Random, randomOf } from '../../contracts/generated-search.ts'
import * as retentionBefore from '../../fixtures/index-state-before/index-retention.ts'
import * as stateBefore from '../../fixtures/index-state-before/index-state.ts'
import * as reconciliationBefore from '../../fixtures/index-state-before/reconciliation.ts'
import * as restoreBefore from '../../fixtures/index-state-before/restore.ts'
import * as servingBefore from '../../fixtures/index-state-before/serving-indices.ts'
import * as recordBefore from '../../fixtures/index-state-before/serving-record.ts'
import { caseCountOf, firstSeed } from '../../fixtures/long-runs.ts'
import { deletionOf, resourceKeyOf, versionOf, writeOf } from '../../fixtures/versions.ts'

const SEQUENCES = caseCountOf(60, 10_000)
const EVENTS = 40

type Old = stateBefore.IndexState
/** One event: its name, the transition of the commit, and the new one. */
type Event = readonly [name: string, before: (state: Old) => Old, now: (state: IndexState) => IndexState]

const TYPES = ['Patient', 'Observation', 'Basic', 'SearchParameter'] as const
const TENANTS = ['one', 'two'] as const
const FORMATS = ['1 1 {}', '2 1 {}', '2 2 {}'] as const
const IDENTITIES = ['a', 'b', 'c', 'd'] as const
const EXECUTIONS = ['x', 'y'] as const
const MINUTE = 60_000

const isFew = (type: string): boolean => (TYPES as readonly string[]).includes(type)
const onlyFew = <Value>(byType: Readonly<Record<string, Value>>): Readonly<Record<string, Value>> =>
  Object.fromEntries(Object.entries(byType).filter(([type]) => isFew(type)))

/** Keeps a few types, so that states stay small. */
function few(state: Old): Old {
  const rebuilds = state.rebuilds.filter(({ type }) => isFew(type))
  if (rebuilds.length === state.rebuilds.length) return state
  const { live } = state
  return { ...state, rebuilds, ...(live && { live: { ...live, types: onlyFew(live.types), lacking: live.lacking.filter(isFew) } }) }
}

/** Does the same to a state of the new code. */
function fewNow(state: IndexState): IndexState {
  const rebuilds = state.rebuilds.filter(({ type }) => isFew(type))
  return rebuilds.length === state.rebuilds.length ? state : { ...state, rebuilds, types: onlyFew(state.types) }
}

const parameter = (tenant: string, id: string, type: string): ResourceVersion =>
  versionOf(
    writeOf(resourceKeyOf(tenant, 'SearchParameter', id), {
      body: {
        resourceType: 'SearchParameter', id, url: `http://example.org/${id}`, status: 'active', code: id, base: [type], type: 'string',
        expression: `${type}.id`,
      }, // biome-ignore format: one resource
    }),
  )

/** Attempts begin again after a change of the format. They did so in each execution before. */
const withoutAttempts = (before: Old, after: Old): Old =>
  before.rebuilds === after.rebuilds ? after : { ...after, rebuilds: after.rebuilds.map(({ taken: _, ...each }) => each) }

const taken = (state: IndexState, execution: string, now: number): IndexState => {
  const before = encode(state) as Old
  const after = stateBefore.takeRebuilds(before, execution, now)
  return after === before ? state : decode(after)
}

/** Draws an event. `state`: the stored state, so that most events fit it. `now`: ms since 1970. */
function eventOf(random: Random, state: Old, now: number): Event {
  const { live, rebuilds } = state
  const [type, tenant, format, fresh] = [random.pick(TYPES), random.pick(TENANTS), random.pick(FORMATS), random.pick(IDENTITIES)]
  const isOdd = random.below(5) === 0
  const identity = isOdd ? fresh : (live?.types[type] ?? live?.identity ?? fresh)
  const attempt = rebuilds.find(({ taken }) => taken !== undefined && !isOdd)?.taken ?? 'none'
  const execution = isOdd ? random.pick(EXECUTIONS) : (state.worker?.execution ?? random.pick(EXECUTIONS))
  const current = isOdd ? format : (state.extraction ?? format)
  const ahead = live?.ahead ?? []
  const epoch = live?.epoch ?? 0
  const at = now - random.below(5) * MINUTE
  const some = TYPES.filter(() => random.below(2) === 0)
  const identified = {
    before: (each: Old) => few(servingBefore.withIdentity(each, fresh)) as servingBefore.IdentifiedState,
    now: (each: IndexState) => fewNow(serving.withIdentity(each, fresh)),
  }
  const events: readonly (() => Event)[] = [
    () => ['withIdentity', identified.before, identified.now],
    () => [
      'addIndices',
      (s) => servingBefore.addIndices(identified.before(s), some, identity),
      (s) => serving.addIndices(identified.now(s), some, identity),
    ],
    () => {
      const missing = Object.fromEntries(some.map((each) => [each, isOdd ? identity : (live?.types[each] ?? 'none')]))
      return [
        'markLost',
        (s) => servingBefore.markLost(identified.before(s), missing, fresh),
        (s) => serving.markLost(identified.now(s), missing, fresh),
      ]
    },
    () => ['markServing', (s) => servingBefore.markServing(s, type, identity), (s) => serving.markServing(s, type, identity)],
    () => [
      'changeFormat',
      (s) => few(withoutAttempts(s, retentionBefore.changeFormat(s, format, now))),
      (s) => fewNow(retention.changeFormat(s, format, now)),
    ],
    () => {
      const versions = Array.from({ length: 1 + random.below(4) }, () =>
        versionOf(writeOf(resourceKeyOf(tenant, random.pick(TYPES), 'r'), { lastUpdated: now - random.below(9) * MINUTE })),
      )
      return [
        'recordFollowedVersions',
        (s) => retentionBefore.recordFollowedVersions(s, versions, current),
        (s) => retention.recordFollowedVersions(s, versions, current),
      ]
    },
    () => ['recordMissedVersions', (s) => retentionBefore.recordMissedVersions(s, at), (s) => retention.recordMissedVersions(s, at)],
    () => {
      const index = random.below(2) === 0 ? undefined : `v${random.below(9)}`
      const by = isOdd && random.below(2) === 0 ? undefined : current
      return [
        'replaceIndex',
        (s) => retentionBefore.replaceIndex(s, type, { extraction: by, index, at: now, epoch }),
        (s) => retention.replaceIndex(s, type, { extraction: by, index, at: now, epoch }),
      ]
    },
    () => [
      'recordInPlaceRebuild',
      (s) => stateBefore.finishAttempt(retentionBefore.recordInPlaceRebuild(s, type, attempt), attempt, type),
      (s) => queue.finishAttempt(retention.recordInPlaceRebuild(s, type, attempt), attempt, type),
    ],
    () => ['withoutPreviousIndex', (s) => retentionBefore.withoutPreviousIndex(s, type), (s) => retention.withoutPreviousIndex(s, type)],
    () => ['withoutExpiredIndices', (s) => retentionBefore.withoutExpiredIndices(s, at), (s) => retention.withoutExpiredIndices(s, at)],
    () => [
      'requestOutdatedRebuilds',
      (s) => retentionBefore.requestOutdatedRebuilds(s, current),
      (s) => retention.requestOutdatedRebuilds(s, current),
    ],
    () => ['requestRebuild', (s) => stateBefore.requestRebuild(s, tenant, some), (s) => queue.requestRebuild(s, tenant, some)],
    () => ['releaseWorker', (s) => stateBefore.releaseWorker(s, execution), (s) => queue.releaseWorker(s, execution)],
    () => ['restartRebuild', (s) => stateBefore.restartRebuild(s, attempt, type), (s) => queue.restartRebuild(s, attempt, type)],
    // Attempts continue in another execution now, so only their rebuilds are compared.
    () => ['takeRebuilds', (s) => stateBefore.takeRebuilds(s, execution, now), (s) => taken(s, execution, now)],
    () => ['finishAttempt', (s) => stateBefore.finishAttempt(s, attempt, type), (s) => queue.finishAttempt(s, attempt, type)],
    () => {
      const former = random.below(3) === 0 ? {} : { former: isOdd ? 'other' : (state.store ?? 'store') }
      const to = { epoch: epoch + (isOdd ? random.below(2) : 1), store: `store${random.below(3)}`, instant: at, ...former }
      return [
        'applyRestore',
        (s) => few(restoreBefore.applyRestore(restoreBefore.withRestoredIdentity(to.epoch, s, fresh), to, fresh, now)),
        (s) => fewNow(restore.applyRestore(restore.withRestoredIdentity(to.epoch, s, fresh), to, fresh, now)),
      ]
    },
    () => [
      'takeReconciliation',
      (s) => reconciliationBefore.workedOn(s, execution, now),
      (s) => restore.takeReconciliation(s, execution, now),
    ],
    () => {
      const of = isOdd ? type : ahead[random.below(ahead.length)]
      if (of === undefined || state.setBack === undefined) return ['nothing', (s) => s, (s) => s]
      const reached = random.below(2) === 0 ? undefined : { tenant, share: random.below(100) / 100 }
      return [
        'recordReconciled',
        (s) => (reached === undefined ? reconciliationBefore.withoutAhead(s, of) : reconciliationBefore.goingOn(s, of, reached)),
        (s) => restore.recordReconciled(s, of, reached),
      ]
    },
    () =>
      state.setBack === undefined
        ? ['nothing', (s) => s, (s) => s]
        : [
            'finishReconciliation',
            (s) => (s.live?.ahead?.length === 0 ? reconciliationBefore.settled(s) : s),
            restore.finishReconciliation,
          ],
    () => {
      const version = { tenant, type, id: `${random.below(3)}`, versionId: random.below(4) }
      const reason = random.pick(['TypeError', 'parameter nick: X'])
      return [
        'recordUnindexable',
        (s) => stateBefore.recordUnindexable(s, version, reason),
        (s) => definitions.recordUnindexable(s, version, reason),
      ]
    },
    () => {
      const key = state.poisoned.at(-1) ?? { tenant, type, id: '0' }
      const version = versionOf(writeOf(resourceKeyOf(key.tenant, key.type, key.id), { expected: random.below(4) }))
      return ['clearUnindexable', (s) => stateBefore.clearUnindexable(s, version), (s) => definitions.clearUnindexable(s, version)]
    },
    () => {
      const names = new Set([`${tenant} ${type} ${random.below(3)}`])
      return ['forgetUnindexable', (s) => reconciliationBefore.withoutPoison(s, names), (s) => definitions.forgetUnindexable(s, names)]
    },
    () => {
      const id = random.pick(['nick', 'mark'])
      const key = resourceKeyOf(tenant, 'SearchParameter', id)
      const version = isOdd ? versionOf(deletionOf(key, { expected: 1 })) : parameter(tenant, id, random.pick(['Patient', 'Basic']))
      return [
        'applySearchParameter',
        (s) => stateBefore.applySearchParameter(s, version),
        (s) => definitions.applySearchParameter(s, version),
      ]
    },
  ]
  return random.pick(events)()
}

/** Returns the state as the database returns it after a write. */
const stored = <State>(state: State): State => JSON.parse(JSON.stringify(state)) as State

/** A stored state without the order of types. An empty map or list means what a missing one means. */
function comparable(state: Old | StoredState) {
  // Only rows of tenants refer to the attempts, and the commit ignored it.
  const { live, behind = {}, kept = {}, setBack, attempts: _, ...rest }: StoredState = stored(state)
  return {
    ...{ ...rest, behind, kept },
    ...(live && { live: { ...live, lacking: live.lacking.toSorted(), ahead: (live.ahead ?? []).toSorted() } }),
    ...(setBack && { setBack: { ...setBack, reached: setBack.reached ?? {} } }),
  }
}

/** Orders the outdated types as the new code does. The order of their rebuilds follows it. */
function ordered(state: Old): Old {
  const { live, behind } = state
  if (behind === undefined) return state
  const types = [
    ...Object.keys(live?.types ?? {}),
    ...(live?.lacking ?? []),
    ...(live?.ahead ?? []),
    ...Object.keys(state.setBack?.reached ?? {}),
  ]
  const known = [...new Set([...types, ...Object.keys(behind)])].filter((type) => Object.hasOwn(behind, type))
  return { ...state, behind: Object.fromEntries(known.map((type) => [type, behind[type]!])) }
}

const outcomeOf = <Result>(work: () => Result): Result | string => {
  try {
    return work()
  } catch (error) {
    return `${(error as Error).name} ${(error as Error).message}`
  }
}

/** Everything that functions read from a state, by the code of the commit and by the new code. */
const readings = (old: Old, state: IndexState, random: Random, now: number): readonly (readonly [unknown, unknown])[] => {
  const [type, tenant, format] = [random.pick(TYPES), random.pick(TENANTS), random.pick(FORMATS)]
  const attempt = old.rebuilds.find(({ taken }) => taken !== undefined)?.taken ?? 'none'
  const epoch = random.below(3)
  const live = old.live ?? servingBefore.NO_INDICES
  return [
    [stateBefore.statusOf(old, tenant), withoutParameters(statusOf(state, tenant))],
    [outcomeOf(() => retentionBefore.formatChangesOf(old, type, format)), outcomeOf(() => retention.formatChangesOf(state, type, format))],
    [retentionBefore.rebuildPathOf(old, type, attempt, epoch), retention.rebuildPathOf(state, type, attempt, epoch)],
    [retentionBefore.isWorthRetaining(old, type, attempt), retention.isWorthRetaining(state, type, attempt)],
    [retentionBefore.hasExpiredIndex(old, now), retention.hasExpiredIndex(state, now)],
    [retentionBefore.previousNamesOf(old).toSorted(), retention.previousNamesOf(state).toSorted()],
    [servingBefore.isIndexLost(old, type), state.types[type]?.lost ?? false],
    [restoreBefore.epochOf(old), restore.epochOf(state)],
    [restoreBefore.exclusiveInstantOf(old, epoch), restore.exclusiveInstantOf(state, epoch)],
    [outcomeOf(() => restoreBefore.checkEpoch(old, epoch)), outcomeOf(() => restore.checkEpoch(state, epoch))],
    [stateBefore.isWorkerNeeded(old), queue.isWorkerNeeded(state)],
    [stateBefore.isWorkerGone(old, now), queue.isWorkerGone(state, now)],
    [live.ahead ?? [], typesWith(state, 'unreconciled')],
    [live.identity, state.identity],
    [live.former, state.former],
    [live.epoch, state.epoch],
    [TYPES.map((each) => recordBefore.isServing(live, each)), TYPES.map((each) => isServing(state.types[each]))],
    [TYPES.map((each) => recordBefore.identityOf(live, each)), TYPES.map((each) => identityOf(state, each))],
  ]
}

const withoutParameters = ({ unreadable, ...rest }: ReturnType<typeof statusOf>) => ({
  ...rest,
  unreadable: unreadable.map(({ parameter: _, ...each }) => each),
})

/** Does what `toEqual` does, faster. */
function expectSame(context: string, is: unknown, was: unknown): void {
  if (!isDeepStrictEqual(is, was)) expect([context, is]).toEqual([context, was])
}

/** States that a stage may start with: new, from before identities existed, and with an index. */
const FIRST: readonly Old[] = [
  NO_STORED_STATE,
  {
    ...NO_STORED_STATE,
    extraction: FORMATS[0],
    behind: { Basic: { extraction: FORMATS[1], since: 3 }, Patient: { extraction: FORMATS[1], since: 4 } },
    kept: { Patient: { extraction: FORMATS[1], since: 5, index: 'v1', at: 6, epoch: 0 } },
  },
  { ...NO_STORED_STATE, extraction: FORMATS[0], live: { identity: 'a', types: { Basic: 'a', Patient: 'a' }, lacking: [], former: [] } },
]

describe('the stored state', () => {
  it('is the one of the transitions before, after each event, and is written as often', () => {
    const counts = new Map<string, number>()
    for (let seed = firstSeed(); seed < firstSeed() + SEQUENCES; seed++) {
      const random = randomOf(seed)
      let item = random.pick(FIRST)
      for (let i = 0, now = 1_000 * MINUTE; i < EVENTS; i++, now += random.below(15) * MINUTE) {
        const [name, before, change] = eventOf(random, item, now)
        const state = decode(item)
        const [was, is] = [outcomeOf(() => before(item)), outcomeOf(() => change(state))]
        const context = `seed ${seed}, event ${i}: ${name}`
        if (typeof was === 'string' || typeof is === 'string') {
          expectSame(context, is, was)
          continue
        }
        expectSame(context, is !== state, was !== item)
        if (is === state) continue
        counts.set(name, (counts.get(name) ?? 0) + 1)
        const [itemBefore, itemNow] = [stored(was), stored(encode(is))]
        expectSame(context, comparable(itemNow), comparable(itemBefore))
        for (const [one, other] of readings(itemBefore, decode(itemNow), random, now)) expectSame(context, other, one)
        // A function of either code writes the item that the next event meets.
        item = random.below(2) === 0 ? itemNow : ordered(itemBefore)
      }
    }
    expect([...counts].filter(([, count]) => count < SEQUENCES / 50)).toEqual([])
  })
})
