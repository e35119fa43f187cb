/**
 * Machine faults, as a closed list: code that answers requests has a response for each, or does not compile. Every other error, except one
 * for an invalid request, is a bug in the program.
 */

/** Faults without further details. */
export type PlainFault =
  /** Too much work is waiting. Nothing was done; the caller may try again. */
  | 'overloaded'
  /** Like `overloaded`, for one attempt: the next may be accepted. */
  | 'refused'
  /** A search used up its budget and has no result. */
  | 'too-costly'
  /** The store shows its latest writes later than a reader waits. The request has no result and changed nothing. */
  | 'writes-hidden'
  /** A search has more groups than are counted. */
  | 'too-many-groups'
  /** Audit records cannot be written, and the server answers nothing without one. */
  | 'not-recorded'
  /** An engine returned an invalid response. */
  | 'failed'
  /** A backing service does not respond, or reports that it is unavailable. A caller that only reads may try again. */
  | 'unavailable'
  /** The disk has no space for the write. Nothing was changed. */
  | 'disk-full'
  /**
   * Stored data cannot be read as it was written: bytes on the disk have changed, or the disk does not return them. Nothing is invented in
   * their place. The message has no content of resources.
   */
  | 'store-damaged'
  | 'index-damaged'
  /** The index found a version that the store lacks, for example after a point-in-time restore. Its results are unreliable. */
  | 'index-ahead'
  /**
   * The index holds documents of another release, with other keys for the requested parameters, or lacks some versions. Nothing was done.
   */
  | 'index-outdated'
  /** The clock is unreliable: nothing was stamped, and nothing was done. */
  | 'clock-jumped'
  /** An operator has stopped all writes, for example during a point-in-time restore. Nothing was done. */
  | 'writes-stopped'
  /** The time of the request is over. Operations that it had sent by then may have been done. */
  | 'timed-out'
  /** An entry of a Bundle: the entries before it took all the time. Nothing was done for this one. */
  | 'not-begun'

/** `retryAfter`: seconds until the index has caught up. `versions`: how many are not indexed yet. Each is absent if it is unknown. */
export type IndexLag = { readonly retryAfter?: number | undefined; readonly versions?: number | undefined }

/** Keys only: code that logs an error must not log resources. */
export type DocumentKey = { readonly tenant: string; readonly type: string; readonly id: string; readonly version: number }

export type FaultDetail =
  | { readonly fault: PlainFault }
  /**
   * The search index did not catch up in time with the versions that the search must see. The request has no result and changed nothing.
   */
  | ({ readonly fault: 'index-behind' } & IndexLag)
  /** Some documents could not be indexed for now. All others of the same call are indexed. The caller can pass these again. */
  | { readonly fault: 'not-applied'; readonly documents: readonly DocumentKey[] }

export type FaultKind = FaultDetail['fault']

/** Carries the properties of its FaultDetail. */
export class MachineFault extends Error {
  declare readonly fault: FaultKind

  constructor(detail: PlainFault | FaultDetail, message?: string, options?: ErrorOptions) {
    super(message, options)
    Object.assign(this, typeof detail === 'string' ? { fault: detail } : detail)
    // Log lines and the reasons of unindexable versions contain the name.
    if (isFault(this, 'store-damaged', 'index-damaged')) this.name = 'Damaged'
  }
}

/** Whether the error is one of these faults. */
export const isFault = <Kind extends FaultKind>(
  error: unknown,
  ...faults: readonly Kind[]
): error is MachineFault & FaultDetail & { readonly fault: Kind } =>
  error instanceof MachineFault && (faults as readonly FaultKind[]).includes(error.fault)

export const indexBehind = (lag: IndexLag = {}): MachineFault =>
  new MachineFault({ fault: 'index-behind', ...lag }, 'the search index is behind')

export const notApplied = (documents: readonly DocumentKey[], cause: unknown): MachineFault => {
  const keys = documents.map(({ tenant, type, id, version }) => ({ tenant, type, id, version }))
  return new MachineFault({ fault: 'not-applied', documents: keys }, `${documents.length} documents are not indexed yet`, { cause })
}
