/**
 * Machine faults, as a closed list: code that answers requests has a response for each, or does not compile. Every other error, except one
 * for an invalid request, is a bug in the program.
 */
export type FaultKind =
  /** Too much work is waiting. Nothing was done; the caller may try again. */
  | 'overloaded'
  /** Like `overloaded`, for one attempt: the next may be accepted. */
  | 'refused'
  /** A search used up its budget and has no result. */
  | 'too-costly'
  /** The index lag exceeds the time that a request waits. The request has no result and changed nothing. */
  | 'index-behind'
  /** The store shows its latest writes later than a reader waits. The request has no result and changed nothing. */
  | 'writes-hidden'
  /** A search has more groups than are counted. */
  | 'too-many-groups'
  /** Audit records cannot be written. */
  | 'not-recorded'
  /** Some documents are not indexed yet. */
  | 'not-applied'
  /** An engine returned an invalid response. */
  | 'failed'
  /** An engine does not respond, or reports that it is unavailable. A caller that only reads may try again. */
  | 'unavailable'
  /** The disk is full. Nothing was changed. */
  | 'disk-full'
  /** Stored data cannot be read as it was written. */
  | 'store-damaged'
  | 'index-damaged'
  /** The index holds versions that the store lacks, and must be rebuilt. */
  | 'index-ahead'
  /** The index is of another release, with other keys for the requested parameters. The request has no result and changed nothing. */
  | 'index-outdated'
  /** The clock is unreliable. Nothing was done. */
  | 'clock-jumped'
  /** An operator has stopped all writes. */
  | 'writes-stopped'
  /** The time of the request is over. Operations that it had sent by then may have been done. */
  | 'timed-out'
  /** An entry of a Bundle: the entries before it took all the time. Nothing was done for this one. */
  | 'not-begun'

export abstract class MachineFault extends Error {
  abstract readonly fault: FaultKind
}
