/** Runs calls of the server on the index of this thread. */
import type { SqliteSearchIndex } from '../../../adapters/sqlite-index/search-index.ts'
import type { IndexCall } from './thread-messages.ts'

/** Returns the answer. Throws the errors of the index. */
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
