/**
 * Machine faults: failures of infrastructure, as a closed list. Code that answers requests must have a response for each, or it does not
 * compile. Every other error, except one for an invalid request, is a bug.
 */

/** Faults without further details. */
export type PlainFault =
  /** Too much work is waiting. Nothing was changed; the caller may try again. */
  | 'overloaded'
  /** A backing service rejected one attempt and changed nothing. The next attempt may succeed. */
  | 'refused'
  /** A search used up its budget, or did not finish in time. It has no result. */
  | 'too-costly'
  /** The store hides its latest writes for longer than a reader waits. The request has no result and changed nothing. */
  | 'writes-hidden'
  /** A search has more groups than `MAX_GROUPS`, and no result. */
  | 'too-many-groups'
  /** Audit records cannot be stored. A server with a strict audit log then answers no request. */
  | 'not-recorded'
  /** A backing service reported an error, or returned an invalid response. */
  | 'failed'
  /**
   * A backing service does not respond, or reports that it is unavailable. A request that only reads may be tried again; a write may have
   * been done.
   */
  | 'unavailable'
  /** The disk has no space for the write. Nothing was changed. */
  | 'disk-full'
  /**
   * Stored data cannot be read as it was written: bytes on the disk have changed, or the disk does not return them. No substitute is
   * returned. The message has no content of resources.
   */
  | 'store-damaged'
  | 'index-damaged'
  /**
   * The index found a version that the store lacks, for example after a point-in-time restore. The results of the search are unreliable, so
   * it has none.
   */
  | 'index-ahead'
  /**
   * The index holds documents of another release, with other keys for the requested parameters, or lacks some versions. The request changed
   * nothing.
   */
  | 'index-outdated'
  /** The clock has jumped, so no version can be stamped. The write changed nothing. */
  | 'clock-jumped'
  /** An operator has stopped all writes, for example during a point-in-time restore. The write changed nothing. */
  | 'writes-stopped'
  /** The time of the request is over. Operations that were already sent to backing services may have been done. */
  | 'timed-out'
  /** Fault of an entry of a Bundle: the entries before it took all the time. The entry changed nothing. */
  | 'not-begun'

/**
 * How far the index is behind. `retryAfter`: estimated seconds until it has caught up. `versions`: number of versions that are not indexed
 * yet. Each is absent if it is unknown.
 */
export type IndexLag = { readonly retryAfter?: number | undefined; readonly versions?: number | undefined }

/** Key of a document without its content: code that logs an error must not log resources. */
export type DocumentKey = { readonly tenant: string; readonly type: string; readonly id: string; readonly version: number }

export type FaultDetail =
  | { readonly fault: PlainFault }
  /**
   * The search index did not catch up in time with the versions that the search must see. The request has no result and changed nothing.
   */
  | ({ readonly fault: 'index-behind' } & IndexLag)
  /** Some documents could not be indexed this time. All others of the same call are indexed. The caller can pass these documents again. */
  | { readonly fault: 'not-applied'; readonly documents: readonly DocumentKey[] }

export type FaultKind = FaultDetail['fault']

/** Error of a machine fault. It also has the properties of its FaultDetail. */
export class MachineFault extends Error {
  declare readonly fault: FaultKind

  constructor(detail: PlainFault | FaultDetail, message?: string, options?: ErrorOptions) {
    super(message, options)
    Object.assign(this, typeof detail === 'string' ? { fault: detail } : detail)
    // Log lines, and the stored reasons of unindexable versions, contain the name of the error.
    if (isFault(this, 'store-damaged', 'index-damaged')) this.name = 'Damaged'
  }
}

/** Whether the error is a MachineFault of one of these kinds. */
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
