import { findRevocationKey } from '../../access/verification/revocation-check.ts'

/** Whether something with these revocation keys is revoked. The last argument is its issue time, in milliseconds since 1970. */
export const isRevoked = async (...asked: Parameters<typeof findRevocationKey>): Promise<boolean> =>
  (await findRevocationKey(...asked)) !== undefined
