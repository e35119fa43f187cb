/** Number of documents in memory while an index follows a store. */
import { expect, it } from '@jest/globals'
import { SqliteSearchIndex } from '../../../lambdas/adapters/sqlite-index/search-index.ts'
import { FeedFollower } from '../../../lambdas/indexing/feed/follower.ts'
import type { FollowedFeed } from '../../../lambdas/indexing/feed/follower-parts.ts'
import { indexChanges, splitByWeight } from '../../../lambdas/indexing/feed/indexing.ts'
import { NO_PREFETCHED_RESOURCES, ParameterPrefetch } from '../../../lambdas/indexing/parameter-prefetch.ts'
import { runToEnd } from '../../../lambdas/ports/execution/generator-driver.ts'
import type { Plan } from '../../../lambdas/ports/search/plan.ts'
import { feedOf } from '../../fixtures/feed.ts'
import { patientKeyOf, resourceKeyOf, versionOf, writeOf } from '../../fixtures/versions.ts'

function* inOnePiece(work: () => void): Generator<undefined, void> {
  work()
  yield
}

/** Number of documents that the index receives at once. */
function appliedOf(texts: readonly string[]): readonly number[] {
  const applied: number[] = []
  const changes = texts.map((text, i) => ({
    position: i + 1,
    version: versionOf(writeOf(patientKeyOf(`${i}`), { body: { resourceType: 'Patient', text } })),
  }))
  const index = {
    applying: ({ length }: { readonly length: number }) => inOnePiece(() => applied.push(length)),
    isFull: false,
    prepareCommit: () => true,
    commit: () => undefined,
    note: () => 0,
    setNote: () => undefined,
  }
  const following = { reading: () => ({}), onPoison: () => undefined }
  for (let position = 0; position < texts.length; ) {
    const part = { changes: changes.slice(position), upTo: texts.length, read: NO_PREFETCHED_RESOURCES }
    position = runToEnd(indexChanges(index, part, following))
  }
  return applied.filter((length) => length > 0)
}

it('sixteen documents are applied at once, fewer heavy ones, and a very heavy one alone', () => {
  const [half, heavy] = ['x'.repeat(600_000), 'x'.repeat(1_000_000)]
  expect(appliedOf(Array(40).fill('x'))).toEqual([16, 16, 8])
  expect(appliedOf(['x', half, half, 'x', 'x'])).toEqual([3, 2])
  expect(appliedOf(['x', heavy, heavy, 'x', 'x'])).toEqual([1, 1, 1, 2])
})

it('a document that fills the index memory is written in steps before others follow', async () => {
  const identifier = Array.from({ length: 1_500 }, (_, i) => ({ system: 'urn:s', value: `${i}` }))
  const versions = [...Array(15).keys(), 'large', ...Array(20).keys()].map((name, i) => {
    const body = { resourceType: 'Patient', id: `${i}`, ...(name === 'large' ? { identifier } : {}) }
    return versionOf(writeOf(patientKeyOf(`${i}`), { body }))
  })
  const index = new SqliteSearchIndex(':memory:', { pending: 2_000 })
  const feed = feedOf(versions)
  const follower = new FeedFollower({ feed, index, commitEvery: 10_000, ...quiet })
  const positions: number[] = []
  while (follower.follow(128)) positions.push(follower.position)
  expect(positions.slice(0, 3)).toEqual([16, 16, 16])
  expect(positions.at(-1)).toBe(36)
  expect(positions.filter((position) => position > 16)).toHaveLength(1)
  index.close()
})

/** More than a megabyte. */
const CONCEPTS = Array.from({ length: 15_000 }, (_, i) => ({ code: `code-${i}`, display: 'x'.repeat(60) }))
const prefetch = new ParameterPrefetch({ evaluate: async () => [] }, () => undefined)
const quiet = { reading: {}, prefetch, onPoison: () => undefined, onChange: () => undefined }
const ask = (type: string, field: string, key: string): Plan => ({
  tenant: patientKeyOf('1').tenant,
  types: [type],
  where: { kind: 'key', field, oneOf: [key] },
  access: 'everything',
  order: [],
  limit: 5,
  total: 'none',
})

/** A store of versions, which counts those it hands out one by one. */
function storeOf(bodies: readonly { readonly resourceType: string; readonly id: string }[]) {
  const versions = bodies.map((body) => versionOf(writeOf(resourceKeyOf(patientKeyOf('1').tenant, body.resourceType, body.id), { body })))
  const read: string[] = []
  const stored = feedOf(versions)
  const feed: FollowedFeed = {
    ...stored,
    version(key) {
      read.push(key.id)
      return stored.version(key)
    },
  }
  return { feed, read }
}

it('a large code system is indexed in pieces, without a commit before it is complete', () => {
  const patients = ['a', 'b'].map((id) => ({ resourceType: 'Patient', id, gender: 'female' }))
  const { feed } = storeOf([patients[0]!, { resourceType: 'CodeSystem', id: 'large', concept: CONCEPTS } as never, patients[1]!])
  const index = new SqliteSearchIndex(':memory:')
  const follower = new FeedFollower({ feed, index, commitEvery: 10_000, ...quiet })
  const seen: string[] = []
  while (follower.follow(128)) {
    const [women, systems] = [ask('Patient', 'gender:code', '\u0001female'), ask('CodeSystem', 'code:code', '\u0001code-7')].map(
      (plan) => index.findNow(plan).hits,
    )
    seen.push(`${follower.position} ${women!.length} ${systems!.length}`)
    if (follower.position === 1) expect(follower.commitStep()).toBe(true)
  }
  const times = Object.entries(Object.groupBy(seen, (each) => each)).map(([each, all]) => [each, all!.length > 15 ? 'many' : all!.length])
  expect(times).toEqual([
    ['1 1 0', 'many'],
    ['2 1 1', 1],
    ['3 2 1', 1],
  ])
  expect([follower.commitStep(), index.note('position')]).toEqual([false, 3])
  index.close()
})

it('a rebuild reads each version once, and fewer heavy versions at once', () => {
  const text = 'x'.repeat(600_000)
  const { feed, read } = storeOf(Array.from({ length: 7 }, (_, i) => ({ resourceType: 'Patient', id: `${i}`, gender: 'male', text })))
  const index = new SqliteSearchIndex(':memory:')
  const follower = new FeedFollower({ feed, index, commitEvery: 10_000, ...quiet })
  while (follower.follow(128));
  follower.requestRebuild(patientKeyOf('1').tenant, ['Patient'])
  const slices: number[] = []
  while (follower.rebuilds.length > 0) {
    const before = read.length
    follower.rebuild(128)
    slices.push(read.length - before)
  }
  expect(slices).toEqual([2, 2, 2, 1])
  expect(new Set(read).size).toBe(7)
  index.close()
})

it('a large code system is rebuilt in pieces, from the start after another request', () => {
  const { feed, read } = storeOf(['one', 'two'].map((id) => ({ resourceType: 'CodeSystem', id, concept: CONCEPTS }) as never))
  const index = new SqliteSearchIndex(':memory:')
  const follower = new FeedFollower({ feed, index, commitEvery: 10_000, ...quiet })
  while (follower.follow(128));
  const { tenant } = patientKeyOf('1')
  follower.requestRebuild(tenant, ['CodeSystem'])
  follower.rebuild(128)
  follower.rebuild(128)
  expect(read).toEqual(['one'])
  follower.requestRebuild(tenant, ['CodeSystem'])
  let pieces = 0
  for (; follower.rebuilds.length > 0; pieces++) follower.rebuild(128)
  expect(read).toEqual(['one', 'one', 'two'])
  expect(pieces).toBeGreaterThan(30)
  index.close()
})

it('versions are grouped by weight, and none is left out', () => {
  const versions = [5, 400_000, 700_000, 5, 2_000_000, 3, 4].map((length) => ({
    ...versionOf(writeOf(patientKeyOf('1'))),
    body: new Uint8Array(length),
  }))
  expect([...splitByWeight(versions)].map((some) => some.map(({ body }) => body.length))).toEqual([
    [5, 400_000, 700_000],
    [5, 2_000_000],
    [3, 4],
  ])
  expect([...splitByWeight([])]).toEqual([])
})
