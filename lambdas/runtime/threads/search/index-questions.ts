/** Executes calls of the server on the index that this thread owns. */
import type { SqliteSearchIndex } from '../../../adapters/sqlite-index/search-index.ts'
import type { IndexCall } from './thread-messages.ts'

/** Calls the method of the index with the arguments `of`, and returns its result. Throws what the index throws. */
export function callIndex(index: SqliteSearchIndex, { method, of }: IndexCall): unknown {
  switch (method) {
    case 'find':
      return index.findNow(...of)
    case 'explain':
      return index.explainNow(...of)
    case 'distinct':
      return index.distinctNow(...of)
    case 'groups':
      return index.groupsNow(...of)
  }
}
