/**
 * Gets a small document that others publish: keys of issuers and of clients.
 *
 * Guarantees
 * - Only https, no redirect, and no address that is not of the public internet: what is behind our own walls is asked only where a person has
 *   written it down.
 * - Ends within two seconds. What is longer than 256 kB is not read to its end.
 * - NotFetched where there is no answer of status 200.
 */
export type FetchDocument = (url: string) => Promise<FetchedDocument>

/** Why there is none: about a host and how it answers, and nothing of a request. */
export class NotFetched extends Error {
  override readonly name = 'NotFetched'
}

/** `maxAge`: milliseconds its owner lets it be kept; absent: it does not say. */
export type FetchedDocument = { readonly bytes: Uint8Array; readonly maxAge?: number }
