/**
 * The thread that owns the writing connection. SQLite blocks its thread while the disk flushes, so nobody else waits here.
 * Whatever has arrived is committed in one go: many commits cost one flush.
 */
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import type { BatchReply, CommitMessage } from './commit-message.ts'
import { Committer } from './committer.ts'
import { openForWriting, PAGE } from './schema.ts'

export type WriterData = { readonly file: string }
export type WriterMessage = CommitMessage | 'close'

const LARGEST_BATCH = 8_000_000
/** How long a commit waits for company, once there has been some: ms. */
const GATHERING = 2
/** Bytes in the write-ahead log that make a checkpoint due: small ones, often, so that none takes long. */
const CHECKPOINT_AT = 4_000_000
const IDLE = 200

const port = parentPort!
const { file } = workerData as WriterData
const db = openForWriting(file)
const committer = new Committer(db)
const passive = db.prepare('PRAGMA wal_checkpoint(PASSIVE)')
const nap = new Int32Array(new SharedArrayBuffer(4))

let company = 1
let logged = 0
let overdue = false
let idle: NodeJS.Timeout | undefined

port.on('message', (first: WriterMessage) => {
  clearTimeout(idle)
  let next: WriterMessage | undefined = first
  while (next !== undefined && next !== 'close') {
    const batch = gather(next)
    const replies = committer.commitAll(batch.messages)
    port.postMessage({ replies, position: committer.position } satisfies BatchReply)
    company = batch.messages.length
    logged += batch.bytes
    next = batch.following ?? receive()
    // Who waited through a large commit does not wait through its checkpoint as well.
    if (logged >= CHECKPOINT_AT && (next === undefined || overdue)) checkpoint()
    else overdue = logged >= CHECKPOINT_AT
  }
  if (next === 'close') return close()
  idle = setTimeout(checkpoint, IDLE)
})

type Batch = { readonly messages: CommitMessage[]; bytes: number; following?: WriterMessage }

/** What is waiting, and what arrives within a moment when the batch before had several commits. */
function gather(first: CommitMessage): Batch {
  const batch: Batch = { messages: [first], bytes: bytesOf(first) }
  const until = company > 1 ? performance.now() + GATHERING : 0
  while (batch.bytes < LARGEST_BATCH) {
    const message = receive()
    if (message === 'close') {
      batch.following = message
      break
    }
    if (message !== undefined) {
      batch.messages.push(message)
      batch.bytes += bytesOf(message)
    } else if (batch.messages.length < company && performance.now() < until) Atomics.wait(nap, 0, 0, 0.2)
    else break
  }
  return batch
}

/** What a commit adds to the log, about: its bodies, and a page for each key. */
const bytesOf = ({ bodies, count }: CommitMessage): number => bodies.byteLength + count * PAGE

const receive = (): WriterMessage | undefined => (receiveMessageOnPort(port) as { readonly message: WriterMessage } | undefined)?.message

/** Moves the log into the file. Where that fails nothing is lost: the log stays. */
function checkpoint(): void {
  logged = 0
  overdue = false
  try {
    passive.get()
    committer.forgetGuards()
  } catch {
    // A full disk, for instance: commits will tell.
  }
}

function close(): void {
  checkpoint()
  db.close()
  port.close()
}
