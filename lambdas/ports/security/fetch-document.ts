/**
 * Fetches a small document of another server: the keys of an issuer or a client.
 *
 * Guarantees
 * - Accepts only https URLs and follows no redirect. Connects only to public addresses, and to hosts in private networks that the operator
 *   has configured.
 * - Ends within two seconds. Stops reading a document at 256 KiB.
 * - Throws NotFetched if there is no response with status 200, or if a limit is exceeded.
 */
export type FetchDocument = (url: string) => Promise<FetchedDocument>

/**
 * Reason why a document cannot be fetched. The message describes the host and its response. It contains no content of the request that
 * needs the document.
 */
export class NotFetched extends Error {
  override readonly name = 'NotFetched'
}

/** Fetched document. `maxAge`: milliseconds for which the other server allows caching; absent: not specified. */
export type FetchedDocument = { readonly bytes: Uint8Array; readonly maxAge?: number }
