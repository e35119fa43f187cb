import type { UnindexableHandler } from '../../../indexing/feed/indexing.ts'
import type { SearchThreadReply } from './thread-messages.ts'

/** Reports an unindexable version, once per type and kind of error, because one parameter may fail on every resource. */
export function unindexableReport(tell: (reply: SearchThreadReply) => void): UnindexableHandler {
  const reported = new Set<string>()
  return ({ tenant, type, id, versionId }, error) => {
    const reason = error instanceof Error ? error.name : typeof error
    if (reported.has(`${type} ${reason}`)) return
    reported.add(`${type} ${reason}`)
    tell({ kind: 'poison', version: { tenant, type, id, versionId }, reason })
  }
}
