/** An index that a release without parameters of packages followed, between two runs of this one. */
import { expect, it } from '@jest/globals'
import { SqliteSearchIndex } from '../../../lambdas/adapters/sqlite-index/search-index.ts'
import { FeedFollower } from '../../../lambdas/indexing/feed/follower.ts'
import { ParameterPrefetch } from '../../../lambdas/indexing/parameter-prefetch.ts'
import { resolvePackageParameters } from '../../../lambdas/search/custom/package-parameters.ts'
import { feedOf } from '../../fixtures/feed.ts'
import { patientKeyOf, resourceKeyOf, versionOf, writeOf } from '../../fixtures/versions.ts'

const basic = (id: string) =>
  versionOf(writeOf(resourceKeyOf(patientKeyOf('1').tenant, 'Basic', id), { body: { resourceType: 'Basic', id } }))

const [resolved] = resolvePackageParameters([
  {
    ...{ name: 'guide', version: '1.0.0' },
    parameters: [
      {
        ...{ resourceType: 'SearchParameter', url: 'http://example.org/about', status: 'active', code: 'about', base: ['Basic'] },
        ...{ type: 'reference', expression: 'Basic.subject' },
      },
    ] as never,
  },
])

it('parameters of packages are built again after a release that did not index their values', () => {
  const index = new SqliteSearchIndex(':memory:')
  const prefetch = new ParameterPrefetch({ evaluate: async () => [] }, () => undefined)
  const follow = (ids: readonly string[]) => {
    const parts = { reading: {}, prefetch, onPoison: () => undefined, onChange: () => undefined }
    return new FeedFollower({ feed: feedOf(ids.map(basic)), index, commitEvery: 10_000, ...parts })
  }
  const runToEnd = (follower: FeedFollower): void => {
    while (follower.follow(128));
    while (follower.canRebuild()) follower.rebuild(128)
    while (!follower.commitStep());
  }
  const first = follow(['a'])
  runToEnd(first)
  first.setPackageParameters(resolved!.mappings, 1)
  runToEnd(first)
  expect(first.rebuilds).toEqual([])
  expect(follow(['a']).rebuilds).toEqual([])
  // The other release moves the position of the index, and writes no note of this one.
  const noted = index.note('packages-position')
  runToEnd(follow(['a', 'b']))
  index.setNote('packages-position', noted!)
  const again = follow(['a', 'b'])
  expect(again.rebuilds.map(({ type }) => type)).toEqual(['Basic'])
  runToEnd(again)
  expect(again.rebuilds).toEqual([])
  expect(follow(['a', 'b']).rebuilds).toEqual([])
  index.close()
})
