/** Matches of generated members with the index of OPENSEARCH_ENDPOINT. */
import { afterAll, beforeAll, it } from '@jest/globals'
import { createTestIndex, runOnOpenSearch, type TestIndex } from '../../engines/opensearch-index.ts'
import { caseCountOf } from '../../fixtures/long-runs.ts'
import { expectSameMembers } from '../../partners/match/generated-members.ts'
import { membersOn } from '../../partners/member-store.ts'

runOnOpenSearch('A match of members on OpenSearch', (endpoint) => {
  let open: TestIndex
  beforeAll(() => {
    open = createTestIndex(endpoint)
  })
  afterAll(() => open.close())

  it('finds the same as the second matcher, for members alone and together', () =>
    expectSameMembers({ members: caseCountOf(200, 10_000), requests: caseCountOf(100, 1_500) }, (stored) => membersOn(open.index, stored)))
})
