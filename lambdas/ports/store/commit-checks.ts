/** Checks the arguments of a commit. Throws the RangeError that `ResourceWriter.commit` promises. */
import type { UniquenessGuard, Write } from './resource-store.ts'

export function checkCommit(writes: readonly Write[], guards: readonly UniquenessGuard[]): void {
  const tenant = (writes[0] ?? guards[0])?.tenant
  if (writes.some((write) => write.tenant !== tenant) || guards.some((guard) => guard.tenant !== tenant))
    throw new RangeError('a commit has one tenant')
  if (writes.length > 1 && new Set(writes.map(({ type, id }) => `${type}/${id}`)).size < writes.length)
    throw new RangeError('a commit writes a resource once')
  if (new Set(guards.map(({ guard }) => guard)).size < guards.length) throw new RangeError('a commit has a guard once')
}
