import type { Mark, RevocationReader } from '../ports/revocations.ts'

/** Whether something with these marks, issued at this instant (ms since 1970), does not count any more. */
export async function isRevoked(revocations: RevocationReader, marks: readonly Mark[], issuedAt: number): Promise<boolean> {
  const found = await revocations.revoked(marks)
  return marks.some((mark) => (found.get(mark) ?? Number.NEGATIVE_INFINITY) >= issuedAt)
}
