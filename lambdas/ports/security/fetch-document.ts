/**
 * Fetches a small document of another server: keys of issuers and of clients.
 *
 * Guarantees
 * - Only https, no redirect, and only public addresses. Hosts in private networks are reached only if the operator has configured them.
 * - Ends within two seconds. A document longer than 256 kB is not read to its end.
 * - Throws NotFetched if there is no response with status 200.
 */
export type FetchDocument = (url: string) => Promise<FetchedDocument>

/** Reason why a document is not available. The message describes the host and its response, and contains nothing of a request. */
export class NotFetched extends Error {
  override readonly name = 'NotFetched'
}

/** `maxAge`: milliseconds for which its owner allows caching; absent: not specified. */
export type FetchedDocument = { readonly bytes: Uint8Array; readonly maxAge?: number }
