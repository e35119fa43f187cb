import { findRevocationKey } from '../../access/verification/revocation-check.ts'

/**
 * Whether something with these revocation keys is revoked, by one of them or by a revocation of everything. The last argument is its issue
 * time, in milliseconds since 1970.
 */
export const isRevoked = async (...asked: Parameters<typeof findRevocationKey>): Promise<boolean> =>
  (await findRevocationKey(...asked)) !== undefined
