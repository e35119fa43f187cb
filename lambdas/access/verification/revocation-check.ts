import { ALL_TOKENS, type RevocationKey, type RevocationReader } from '../../ports/rows/revocations.ts'

/** Why something with these marks, issued at this instant (ms since 1970), does not count any more; undefined: it does. */
export async function findRevocationKey(
  revocations: RevocationReader,
  marks: readonly RevocationKey[],
  issuedAt: number,
): Promise<RevocationKey | undefined> {
  // guard: revocation-of-all-tokens
  const each = [ALL_TOKENS, ...marks] as const
  const found = await revocations.revoked(each)
  // guard: revocation-covers-its-instant
  return each.find((mark) => (found.get(mark) ?? Number.NEGATIVE_INFINITY) >= issuedAt)
}
