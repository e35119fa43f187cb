/** The RangeError that `ResourceWriter.commit` promises. */
import type { Guard, Write } from './resource-store.ts'

export function checkDistinct(writes: readonly Write[], guards: readonly Guard[]): void {
  if (new Set([...writes, ...guards].map(({ tenant }) => tenant)).size > 1) throw new RangeError('a commit has one tenant')
  if (new Set(writes.map(({ type, id }) => `${type}/${id}`)).size < writes.length) throw new RangeError('a commit writes a resource once')
  if (new Set(guards.map(({ guard }) => guard)).size < guards.length) throw new RangeError('a commit has a guard once')
}
