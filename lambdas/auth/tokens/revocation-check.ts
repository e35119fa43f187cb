import { findRevocationKey } from '../../access/verification/revocation-check.ts'

/** Whether something with these marks, issued at this instant (ms since 1970), does not count any more. */
export const isRevoked = async (...asked: Parameters<typeof findRevocationKey>): Promise<boolean> =>
  (await findRevocationKey(...asked)) !== undefined
