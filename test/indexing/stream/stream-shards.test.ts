/**
 * Heartbeats and conditional creates over streams of many shards, in simulated time. The shard with the fewest beats is ten minutes behind
 * for a while. Conditional creates use the index of recent writes, as on AWS.
 */
import { describe, expect, it } from '@jest/globals'
import { heartbeatItem } from '../../../lambdas/adapters/dynamodb/stream/heartbeat.ts'
import { FhirError } from '../../../lambdas/fhir/outcome.ts'
import { beatsOf, collectBeats, followHeartbeat, sendHeartbeat } from '../../../lambdas/indexing/stream/heartbeat.ts'
import { recentWritesIndex } from '../../../lambdas/interactions/consistency/recent-writes-index.ts'
import { BEATS_PER_PARTITION, MIN_BEATS, type ShardHeartbeat } from '../../../lambdas/ports/search/heartbeat.ts'
import { type Plan, predicateOf } from '../../../lambdas/ports/search/plan.ts'
import type { IndexDocument, Searches } from '../../../lambdas/ports/search/search-index.ts'
import type { ResourceVersion } from '../../../lambdas/ports/store/resource-store.ts'
import { extract } from '../../../lambdas/search/documents/extract.ts'
import { matchesPredicate, sortPositionOf } from '../../../lambdas/search/evaluate.ts'
import { randomOf } from '../../contracts/generated-search.ts'
import { EXPRESSIONS } from '../../fixtures/expressions.ts'
import { heartbeatParts } from '../../fixtures/heartbeats.ts'
import { caseCountOf } from '../../fixtures/long-runs.ts'
import { patient } from '../../fixtures/resources.ts'
import { ShardedStream } from '../../fixtures/sharded-stream.ts'
import { patientKeyOf, versionOf, writeOf } from '../../fixtures/versions.ts'

const [SECOND, MINUTE] = [1_000, 60_000]
/** Minutes of the simulation in which one shard is behind, and by how many. */
const [BEHIND_FROM, BEHIND_UNTIL, BEHIND_BY] = [4, 8, 10]
const MINUTES = 22
const STEP = 5 * SECOND
/** A client repeats a conditional create up to this number of steps later. */
const REPEATED = 100

type Entry = { readonly beat: ShardHeartbeat } | { readonly version: ResourceVersion }

/** `beats`: number of beats of each heartbeat, whatever the number of shards is. */
async function simulate(shards: number, seed: number, beats?: number) {
  const random = randomOf(seed)
  const stream = new ShardedStream<Entry>(shards, random)
  const [sentBefore, applied, written] = [new Map<number, number>(), new Map<string, IndexDocument>(), [] as ResourceVersion[]]
  const [uncovered, told] = [[] as string[], [] as number[]]
  let now = 100 * MINUTE
  const begun = now
  const parts = heartbeatParts({
    partitions: async () => (beats ?? BEATS_PER_PARTITION * shards) / BEATS_PER_PARTITION,
    async send(sent) {
      for (const beat of sent) {
        const before = sentBefore.get(beat.place)
        stream.put(heartbeatItem(beat).pk, now, { beat: { ...beat, ...(before === undefined ? {} : { before }) } })
        sentBefore.set(beat.place, beat.sent)
      }
    },
    async tell(sent) {
      for (const { id, lastUpdated } of written) if (lastUpdated < sent && !applied.has(id)) uncovered.push(`${id} before ${sent}`)
      told.push(sent)
      return { Patient: { identity: 'one', sent } }
    },
  })
  const index: Pick<Searches, 'find'> = {
    async find(plan) {
      const found = [...applied.values()].filter((document) => matchesPredicate(predicateOf(plan, 'Patient'), document))
      const hits = found.map((document) => ({ ...document, position: sortPositionOf(document, plan.order) }))
      return { hits, more: false, ...(told.length === 0 ? {} : { pulse: told.at(-1)! }) }
    },
  }
  const resources = {
    async *recent(_: unknown, since: number) {
      yield* written.filter(({ lastUpdated }) => lastUpdated >= since)
    },
  }
  /** Returns whether a resource was created, or found, or the request was rejected. */
  async function createConditionally(family: string): Promise<'created' | 'found' | 'rejected'> {
    const clock = { now: () => now, newId: () => 'id' }
    const latest = recentWritesIndex({
      index: index as Searches,
      resources,
      clock,
      expressions: EXPRESSIONS,
      reading: () => ({}),
      maxVersions: 2_000,
    })
    const where = { kind: 'key', field: 'family:exact', oneOf: [family] } as const
    const plan: Plan = { tenant: 'a', types: ['Patient'], where, access: 'everything', order: [], limit: 2, total: 'none' }
    try {
      if ((await latest.find(plan)).hits.length > 0) return 'found'
    } catch (error) {
      if (!(error instanceof FhirError && error.status === 503)) throw error
      return 'rejected'
    }
    const id = idOf(written.length)
    const version = versionOf(writeOf(patientKeyOf(id, 'a'), { expected: 0, lastUpdated: now, body: patient(id, { family }) }))
    written.push(version)
    stream.put(`a#Patient#${id}`, now, { version })
    return 'created'
  }
  /** Every second resource is in the slow shard. */
  function idOf(n: number): string {
    for (let suffix = 0; ; suffix++) {
      const id = `p${n}-${suffix}`
      if (n % 2 === 0 || stream.shardOf(`a#Patient#${id}`) === slow) return id
    }
  }
  async function deliver(batch: readonly Entry[]): Promise<void> {
    for (let rest = batch; rest.length > 0; ) {
      const some = rest.slice(0, 1 + random.below(40))
      rest = rest.slice(some.length)
      for (const entry of some) {
        if (!('version' in entry)) continue
        const body = JSON.parse(new TextDecoder().decode(entry.version.body))
        applied.set(entry.version.id, extract(entry.version, body, {}))
      }
      const arrived = some.flatMap((entry) => ('beat' in entry ? [entry.beat] : []))
      if (arrived.length > 0) await followHeartbeat(parts, arrived, now)
    }
  }
  const ofShards = Map.groupBy(beatsOf(0, beats ?? Math.max(MIN_BEATS, BEATS_PER_PARTITION * shards)), (beat) =>
    stream.shardOf(heartbeatItem(beat).pk),
  )
  const beatsIn = (shard: number): number => ofShards.get(shard)?.length ?? 0
  const slow = Array.from({ length: shards }, (_, shard) => shard).reduce((a, b) => (beatsIn(b) < beatsIn(a) ? b : a))
  const isLate = (at: number, shard: number): boolean =>
    shard === slow && at >= begun + BEHIND_FROM * MINUTE && at < begun + BEHIND_UNTIL * MINUTE
  const outcomes: { readonly minute: number; readonly outcome: string }[] = []
  for (; now < begun + MINUTES * MINUTE; now += STEP) {
    const minute = (now - begun) / MINUTE
    if (Number.isInteger(minute)) {
      await collectBeats(parts, now)
      await sendHeartbeat(parts, now)
    }
    const step = (now - begun) / STEP
    for (const number of [step, Math.max(0, step - 1 - random.below(REPEATED))])
      outcomes.push({ minute, outcome: await createConditionally(`family${number}`) })
    const batches = stream.take((at, shard) => now >= at + (isLate(at, shard) ? BEHIND_BY * MINUTE : STEP * random.below(3)))
    await Promise.all(batches.map(deliver))
  }
  const families = written.map(({ body }) => JSON.parse(new TextDecoder().decode(body)).name[0].family as string)
  const rejected = new Set(outcomes.flatMap(({ minute, outcome }) => (outcome === 'rejected' ? [Math.floor(minute)] : [])))
  return {
    fewest: beatsIn(slow),
    uncovered,
    duplicates: families.filter((family, i) => families.indexOf(family) !== i),
    rejected: [...rejected],
    created: written.length,
    toldLast: (told.at(-1)! - begun) / MINUTE,
    rows: parts.rows.writes,
  }
}

describe('Heartbeats over many shards', () => {
  it.each([4, 8, 40, 300])('cover every write in an index that holds them, over %i shards', async (shards) => {
    for (let seed = 1; seed <= caseCountOf(shards > 100 ? 1 : 3, 10); seed++) {
      const { fewest, uncovered, duplicates, rejected, created, toldLast } = await simulate(shards, seed)
      expect(fewest).toBeGreaterThan(0)
      expect([uncovered, duplicates]).toEqual([[], []])
      expect(created).toBeGreaterThan(100)
      // The index has the heartbeat of minute 3 until the slow shard delivers those of minutes 4 to 7, ten minutes later.
      expect(rejected).toEqual([8, 9, 10, 11, 12, 13, 14, 15, 16, 17])
      expect(toldLast).toBe(MINUTES - 1)
    }
  })

  it('miss shards if their number does not grow with the shards', async () => {
    const { fewest, uncovered, duplicates } = await simulate(300, 1, MIN_BEATS)
    expect([fewest, uncovered.length > 0, duplicates.length > 0]).toEqual([0, true, true])
  })
})
