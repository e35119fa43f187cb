/**
 * What may be wrong with the machine, as one closed list: who answers requests has an answer for each, or does not compile. Anything else
 * that is thrown, but a broken request, is a fault of the program.
 */
export type FaultKind =
  /** More work is waiting than is taken on: nothing was done, the caller may try again. */
  | 'overloaded'
  /** As that, of one attempt: the next may be let in. */
  | 'refused'
  /** A search used up its budget: nothing was found out. */
  | 'too-costly'
  /** The search index is behind what was written, for longer than is waited: nothing was found out, or done. */
  | 'index-behind'
  /** The store shows its latest writes late, for longer than a reader waits: nothing was found out, or done. */
  | 'writes-hidden'
  /** A search has more groups than are counted. */
  | 'too-many-groups'
  /** Audit records cannot be written. */
  | 'not-recorded'
  /** Some documents are not indexed yet. */
  | 'not-applied'
  /** An engine answered what is no answer. */
  | 'failed'
  /** An engine does not answer, or says that it cannot now: who only asked may ask again. */
  | 'unavailable'
  /** The disk is full: nothing was changed. */
  | 'disk-full'
  /** What was kept cannot be read as it was written. */
  | 'store-damaged'
  | 'index-damaged'
  /** The index knows what the store does not have: it has to be made anew. */
  | 'index-ahead'
  /** The index is of another release, whose keys of what is asked by are others: nothing was found out, or done. */
  | 'index-outdated'
  /** The clock cannot be believed: nothing was done. */
  | 'clock-jumped'
  /** An operator has stopped all writes. */
  | 'writes-stopped'
  /** There was no more time: what was sent by then may be done. */
  | 'timed-out'
  /** An entry of a Bundle: those before took the time there was. Nothing was done for this one. */
  | 'not-begun'

export abstract class MachineFault extends Error {
  abstract readonly fault: FaultKind
}
