/** Applies many commits in one SQLite transaction. */
import { isFault } from '../../../ports/faults.ts'
import { isDiskFull } from '../../sqlite-file/sqlite-errors.ts'
import { toStoreFault } from '../damage.ts'
import type { Commit, CommitReply, PackedGuard } from './commit-message.ts'
import type { CommitConflict, LogWriter } from './log-writer.ts'

/**
 * Applies all commits in one transaction. Each of them succeeds, or changes nothing and reports its conflict. If the transaction fails,
 * each commit is tried in its own transaction.
 */
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
    // guard: failed-commit-restores-log-position
    log.position = before
    log.rollback()
    if (hasBegun && commits.length > 1) return commits.flatMap((commit) => commitAll(log, [commit]))
    return commits.map(({ number }) => ({ number, ...failureOf(error) }))
  }
}

function failureOf(error: unknown): Pick<CommitReply, 'failed' | 'fault'> {
  const cause = toStoreFault(error)
  const failed = cause instanceof Error ? cause.message : String(cause)
  if (isDiskFull(error)) return { failed, fault: 'full' }
  return isFault(cause, 'store-damaged') ? { failed, fault: 'damaged' } : { failed }
}

function apply(log: LogWriter, { tenant, at, writes, guards }: Commit): CommitConflict | undefined {
  const rows = writes.map((write, i) => ({ seq: log.position + 1 + i, kind: log.kindOf(tenant, write.type), write }))
  const write = rows.findIndex((row) => !log.isNext(row))
  const stop = write === -1 ? guardConflictOf(log, tenant, guards) : { write }
  if (stop !== undefined) return stop
  for (const row of rows) {
    log.addVersion(row)
    log.addKey(row)
  }
  log.bind(tenant, guards, at)
  log.position += rows.length
  return undefined
}

function guardConflictOf(log: LogWriter, tenant: string, guards: readonly PackedGuard[]): CommitConflict | undefined {
  const held = guards.flatMap((each, index) => log.heldGuard(tenant, each, index) ?? [])
  return held.length === 0 ? undefined : { held }
}
