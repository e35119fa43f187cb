/** Executes calls of the server on the index that this thread owns. */
import type { SqliteSearchIndex } from '../../../adapters/sqlite-index/search-index.ts'
import type { IndexCall } from './thread-messages.ts'

/** Returns the result of the call. Errors of the index reach the caller. */
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
