/**
 * Sends entries to a server, first as a transaction, because that is fast. A refused transaction is sent again as a batch, so that only its
 * wrong entries fail. If a transaction takes the server too long, its halves are sent separately.
 */
import { parseJsonBytes } from '../../lambdas/fhir/json.ts'
import type { Post } from '../client/http-post.ts'
import { isSuccess, type OperationOutcome, parseJsonBody, reasonOf } from '../client/server-response.ts'
import type { LoadEntry, LoadFailure } from './load-entries.ts'
import { patchedBufferOf, patchedSizeOf, writePatched } from './patched-bytes.ts'
import { ReusedBuffer } from './reused-buffer.ts'

export type BundleSender = (entries: readonly LoadEntry[]) => Promise<readonly LoadFailure[]>

/** Creates a sender, which rejects if the server cannot be reached. Await each call before the next one, because they share memory. */
export const bundleSender = (post: Post): BundleSender => {
  const memory = new ReusedBuffer()
  const send: BundleSender = async (entries) => {
    const first = await post(bundleOf('transaction', entries, memory))
    if (isSuccess(first)) return []
    const reason = reasonOf(first.status, parseJsonBody(first) as OperationOutcome | undefined)
    if (entries.length === 1) return [failureOf(entries[0]!, reason)]
    if (first.status === TOO_LONG) return inHalves(send, entries, reason)
    const second = await post(bundleOf('batch', entries, memory))
    if (isSuccess(second)) return resendBusy(send, failuresIn(parseJsonBody(second) as Answered, entries), entries)
    const unreadable = entries.flatMap((entry) => faultOf(entry) ?? [])
    if (unreadable.length === 0) return entries.map((entry) => failureOf(entry, reason))
    const rest = entries.filter((entry) => !unreadable.some(({ key }) => key === entry.key))
    return [...unreadable, ...(rest.length > 0 ? await send(rest) : [])]
  }
  return send
}

/** Status after a timeout of a gateway or of a function on AWS. The server may have processed the Bundle, but sending it again is safe. */
const TOO_LONG = 504
const BUSY = 503

async function inHalves(send: BundleSender, entries: readonly LoadEntry[], reason: string): Promise<readonly LoadFailure[]> {
  const [head, tail] = [entries.slice(0, entries.length / 2), entries.slice(entries.length / 2)]
  const failed = await send(head)
  // If each single entry of the first half timed out, the second half would too.
  const isHopeless = failed.length === head.length && failed.every((each) => each.reason.startsWith(String(TOO_LONG)))
  return [...failed, ...(isHopeless ? tail.map((entry) => failureOf(entry, reason)) : await send(tail))]
}

/** Sends the busy entries of a batch again if the server processed some of the others. Returns the remaining failures. */
async function resendBusy(
  send: BundleSender,
  failed: readonly LoadFailure[],
  entries: readonly LoadEntry[],
): Promise<readonly LoadFailure[]> {
  const busy = failed.filter(({ reason }) => reason.startsWith(String(BUSY)))
  if (busy.length === 0 || busy.length === entries.length) return failed
  const left = entries.filter(({ place, key }) => busy.some((each) => each.place === place && each.key === key))
  return [...failed.filter((each) => !busy.includes(each)), ...(await send(left))]
}

function bundleOf(type: 'transaction' | 'batch', entries: readonly LoadEntry[], memory: ReusedBuffer): Buffer {
  const out = memory.take(entries.reduce((size, { url, resource }) => size + AROUND + url.size + patchedSizeOf(resource), AROUND))
  let at = out.write(`{"resourceType":"Bundle","type":"${type}","entry":[{"resource":`)
  for (const [i, { url, resource }] of entries.entries()) {
    at = writePatched(resource, out, at)
    at += out.write(`,"request":{"method":"PUT","url":${url.text}}}${i + 1 < entries.length ? ',{"resource":' : ']}'}`, at)
  }
  return out.subarray(0, at)
}

/** Upper limit in bytes for the JSON around each resource, and around all of them. */
const AROUND = 100

/** Returns the failure of an entry. Paths start at the resource, because the user has never seen the Bundle. */
function failureOf({ place, key }: LoadEntry, reason: string): LoadFailure {
  const [type = ''] = key.split('/')
  return { place, key, reason: reason.replaceAll(/Bundle\.entry\[\d+]\.resource/g, type) }
}

/** Returns the failure of an entry that is not valid FHIR JSON. One such entry makes the complete Bundle unreadable. */
function faultOf(entry: LoadEntry): LoadFailure | undefined {
  try {
    parseJsonBytes(patchedBufferOf(entry.resource))
    return undefined
  } catch (error) {
    return failureOf(entry, (error as Error).message)
  }
}

type Answered = { readonly entry?: readonly { readonly response?: { readonly status?: string; readonly outcome?: OperationOutcome } }[] }

function failuresIn(bundle: Answered | undefined, entries: readonly LoadEntry[]): readonly LoadFailure[] {
  const answers = bundle?.entry ?? []
  return entries.flatMap((entry, i) => {
    const { status = 'no answer', outcome } = answers[i]?.response ?? {}
    return status.startsWith('2') ? [] : [failureOf(entry, reasonOf(status, outcome))]
  })
}
