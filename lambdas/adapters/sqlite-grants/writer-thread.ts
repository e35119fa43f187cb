/**
 * Thread that writes the grants file. SQLite blocks it while the disk flushes or another process writes, so this thread does nothing else.
 * All changes that have arrived share one transaction.
 */
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { isFault } from '../../ports/faults.ts'
import { type GrantChange, GrantChanges } from './grant-changes.ts'
import { openGrantsFile, toGrantsFault } from './grants-file.ts'

export type GrantsWriterRequest = { readonly number: number; readonly change: GrantChange } | 'close'

/** Kind of a fault. It is sent instead of the error, because messages between threads do not preserve error classes. */
export type GrantsWriterFault = 'busy' | 'full' | 'damaged' | 'other'

/** `done`: number of each change → whether it changed a row. */
export type GrantsWriterReply =
  | { readonly done: ReadonlyMap<number, boolean> }
  | { readonly failed: readonly number[]; readonly fault: GrantsWriterFault; readonly text: string }

/** Maximum changes per transaction. If the transaction fails, all its changes fail. */
const MOST_AT_ONCE = 500

const port = parentPort!
const db = openGrantsFile(workerData as string)
const changes = new GrantChanges(db)

port.on('message', (first: GrantsWriterRequest) => {
  let next: GrantsWriterRequest | undefined = first
  while (next !== undefined && next !== 'close') {
    const batch: Exclude<GrantsWriterRequest, 'close'>[] = []
    for (; next !== undefined && next !== 'close' && batch.length < MOST_AT_ONCE; next = received()) batch.push(next)
    port.postMessage(answer(batch))
  }
  if (next === 'close') close()
})

const received = (): GrantsWriterRequest | undefined =>
  (receiveMessageOnPort(port) as { readonly message: GrantsWriterRequest } | undefined)?.message

function answer(batch: readonly Exclude<GrantsWriterRequest, 'close'>[]): GrantsWriterReply {
  try {
    const done = changes.commit(batch.map(({ change }) => change))
    return { done: new Map(batch.map(({ number }, i) => [number, done[i]!])) }
  } catch (error) {
    const reason = toGrantsFault(error, workerData as string)
    return { failed: batch.map(({ number }) => number), fault: faultOf(reason), text: (reason as Error).message }
  }
}

function faultOf(reason: unknown): GrantsWriterFault {
  if (isFault(reason, 'overloaded')) return 'busy'
  if (isFault(reason, 'disk-full')) return 'full'
  return isFault(reason, 'store-damaged') ? 'damaged' : 'other'
}

function close(): void {
  db.close()
  port.close()
}
