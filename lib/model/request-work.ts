/** Work of one request of each interaction. */
import { DEFAULT_MIX } from './load.ts'

export type Work = {
  readonly gigabytes: number
  /** Duration of the function. Assumed: measurements on one machine say nothing about Lambda. */
  readonly ms: number
  /** Units of DynamoDB, the audit record not counted. */
  readonly writes: number
  readonly reads: number
  /** Bytes of the answer, in KB. */
  readonly answer: number
  readonly indexed?: true
  readonly signed?: true
}

/** For a resource of 1.5 KB, which is stored in less than 1 KB. A search finds 20. Units are those of lib/docs/cost.md. */
export const REQUEST_WORK = {
  read: { gigabytes: 0.5, ms: 8, writes: 0, reads: 1, answer: 1.5 },
  search: { gigabytes: 1, ms: 40, writes: 0, reads: 20, answer: 30 },
  create: { gigabytes: 1, ms: 20, writes: 2, reads: 0, answer: 0.5, indexed: true },
  update: { gigabytes: 1, ms: 25, writes: 5, reads: 1, answer: 0.5, indexed: true },
  // The client, its failures, and twice the list of keys.
  token: { gigabytes: 0.5, ms: 30, writes: 0, reads: 4, answer: 1.5, signed: true },
} satisfies Record<string, Work>

/** Each request writes an audit record, which is kept for three months. `AUDIT_KB`: measured by test/infra/stored-items.ts. */
export const AUDIT_WRITES = 1
export const AUDIT_KB = 0.56
export const AUDIT_MONTHS = 3
/** Log of a request. */
export const LOG_KB = 0.5

/** Requests that a client sends with one access token. Assumed: a token is valid for at least five minutes. */
const REQUESTS_OF_TOKEN = 100
/** Files of a small export: one for each type. */
const FILES = Object.keys(DEFAULT_MIX.types).length

/**
 * Returns the signatures of KMS in a second in which a client also asks for a manifest. `requests`: those with a token. `files`: those of
 * the manifest, whose links are signed together.
 */
export const signaturesOf = (requests: number, files = FILES): number => Math.ceil(requests / REQUESTS_OF_TOKEN) + files
