/** Applies commits, many of them in one transaction of SQLite. */
import type { Commit, CommitReply } from './commit-message.ts'
import type { LogWriter, Stop } from './log-writer.ts'

/** All of them in one transaction; each alone succeeds or meets its conflict. When that fails, each is tried in one of its own. */
export function commitAll(log: LogWriter, commits: readonly Commit[]): readonly CommitReply[] {
  const before = log.position
  let hasBegun = false
  try {
    log.begin()
    hasBegun = true
    const replies = commits.map((commit) => ({ ...apply(log, commit), number: commit.number }))
    log.commit()
    return replies
  } catch (error) {
    log.position = before
    log.rollback()
    if (hasBegun && commits.length > 1) return commits.flatMap((commit) => commitAll(log, [commit]))
    const failed = error instanceof Error ? error.message : String(error)
    return commits.map(({ number }) => ({ number, failed }))
  }
}

function apply(log: LogWriter, { tenant, writes, guards }: Commit): Stop | undefined {
  const kinds = writes.map(({ type }) => log.kindOf(tenant, type))
  const write = writes.findIndex((each, i) => !log.isHead(kinds[i]!, each))
  if (write !== -1) return { write }
  for (const [guard, each] of guards.entries()) {
    const holder = log.holderInTheWay(tenant, each)
    if (holder !== undefined) return { guard, holder }
  }
  for (const [i, each] of writes.entries()) {
    const seq = ++log.position
    log.addVersion(seq, kinds[i]!, each)
    log.addKey(seq, kinds[i]!, each)
  }
  log.bind(tenant, guards)
  return undefined
}
