/** Removals of documents from terms. The remaining documents equal those of a model, and a batch writes each block once. */
import { describe, expect, it } from '@jest/globals'
import { listOf } from '../../../lambdas/adapters/sqlite-index/lists/document-sets.ts'
import { Postings } from '../../../lambdas/adapters/sqlite-index/lists/postings.ts'
import { searchBudgetOf } from '../../../lambdas/adapters/sqlite-index/reading/budget.ts'
import { openIndex } from '../../../lambdas/adapters/sqlite-index/schema.ts'
import { randomOf } from '../../contracts/generated-search.ts'
import { caseCountOf, firstSeed } from '../../fixtures/long-runs.ts'

const COMBINATION = 1
const ROUNDS = caseCountOf(20, 300)
/** Documents that fill several blocks. */
const DOCS = 3_500

/** Returns Postings whose terms have the documents 1 to DOCS, in blocks. */
function postingsWith(...values: readonly string[]) {
  const db = openIndex(':memory:')
  const postings = new Postings(db, searchBudgetOf(db, Number.POSITIVE_INFINITY))
  const write = (): void => {
    for (const _ of postings.writing());
  }
  for (const value of values) for (let doc = 1; doc <= DOCS; doc++) postings.add(COMBINATION, value, doc)
  write()
  return {
    postings,
    write,
    docsOf(value: string): readonly number[] {
      const condition = { text: 'value = ?', values: [value] }
      return [...listOf(postings.read({ combinations: [COMBINATION], condition, values: [value] }, undefined))]
    },
    /** Returns the number of rows that were written so far. */
    rowsWritten: () => (db.prepare('SELECT total_changes() AS n').get() as { readonly n: number }).n,
  }
}

describe('Removed documents', () => {
  it('are no longer found, and documents that were added again are', () => {
    const seed = firstSeed()
    const random = randomOf(seed)
    const { postings, docsOf, write } = postingsWith('a', 'b')
    const model = new Map(['a', 'b'].map((value) => [value, new Set(docsOf(value))]))
    for (let round = 0; round < ROUNDS; round++) {
      const changes = Array.from({ length: random.pick([1, 16, 900]) }, () => 1 + random.below(random.pick([50, DOCS])))
      const from = 1 + random.below(DOCS)
      if (random.below(3) === 0) for (let doc = from; doc < from + 1_200; doc++) changes.push(doc)
      for (const doc of new Set(changes)) {
        const value = random.pick(['a', 'b'])
        const docs = model.get(value)!
        if (docs.delete(doc)) postings.remove(COMBINATION, value, doc)
        else {
          docs.add(doc)
          postings.add(COMBINATION, value, doc)
        }
      }
      postings.removeWritten()
      if (random.below(2) === 0) write()
      for (const [value, docs] of model) expect([seed, round, docsOf(value)]).toEqual([seed, round, [...docs].sort((a, b) => a - b)])
    }
  })

  it('are removed from a block by one write', () => {
    const { postings, rowsWritten } = postingsWith('a', 'b')
    const before = rowsWritten()
    for (let doc = 1_101; doc <= 1_200; doc++) for (const value of ['a', 'b']) postings.remove(COMBINATION, value, doc)
    postings.removeWritten()
    expect(rowsWritten() - before).toBe(2)
  })

  it('leave no block if they were all its documents', () => {
    const { postings, docsOf } = postingsWith('a')
    for (let doc = DOCS; doc > 0; doc--) postings.remove(COMBINATION, 'a', doc)
    postings.removeWritten()
    expect(docsOf('a')).toEqual([])
    postings.remove(COMBINATION, 'a', 7)
    postings.removeWritten()
    postings.add(COMBINATION, 'a', 7)
    expect(docsOf('a')).toEqual([7])
  })
})
