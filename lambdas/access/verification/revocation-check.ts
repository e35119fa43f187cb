import { ALL_TOKENS, type RevocationKey, type RevocationReader } from '../../ports/rows/revocations.ts'

/**
 * Returns a key that revokes a token with these `keys`, or undefined if the token is valid. ALL_TOKENS is checked too. A revocation covers
 * tokens issued at or before its instant. `issuedAt`: milliseconds since 1970.
 */
export async function findRevocationKey(
  revocations: RevocationReader,
  keys: readonly RevocationKey[],
  issuedAt: number,
): Promise<RevocationKey | undefined> {
  // guard: revocation-of-all-tokens
  const allKeys = [ALL_TOKENS, ...keys] as const
  const found = await revocations.revoked(allKeys)
  // guard: revocation-covers-its-instant
  return allKeys.find((key) => (found.get(key) ?? Number.NEGATIVE_INFINITY) >= issuedAt)
}
