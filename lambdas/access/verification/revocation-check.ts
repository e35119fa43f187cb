import { ALL_TOKENS, type RevocationKey, type RevocationReader } from '../../ports/rows/revocations.ts'

/** Returns the revocation key that revokes a token with these `marks`, or undefined if it is valid. `issuedAt`: milliseconds since 1970. */
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
