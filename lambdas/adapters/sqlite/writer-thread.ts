/**
 * The thread that owns the writing connection. SQLite blocks its thread while the disk flushes, so nobody else waits here.
 * Whatever has arrived is committed in one go: many commits cost one flush.
 */
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import type { BatchReply, CommitMessage } from './commit-message.ts'
import { Committer } from './committer.ts'
import { openForWriting } from './schema.ts'

export type WriterData = { readonly file: string }
export type WriterMessage = CommitMessage | 'close'

const LARGEST_BATCH = 8_000_000
/** How long a commit waits for company, once there has been some: ms. */
const GATHERING = 2
/** Pages in the write-ahead log that make a checkpoint due: small ones, often, so that none takes long. */
const CHECKPOINT_AT = 1_000
const HOUR = 60 * 60 * 1000

const port = parentPort!
const { file } = workerData as WriterData
const db = openForWriting(file)
const committer = new Committer(db)
const checkpoint = db.prepare('PRAGMA wal_checkpoint(PASSIVE)')
const nap = new Int32Array(new SharedArrayBuffer(4))

let company = 1
let commits = 0
let idle: NodeJS.Timeout | undefined

port.on('message', (first: WriterMessage) => {
  clearTimeout(idle)
  let next: WriterMessage | undefined = first
  while (next !== undefined && next !== 'close') {
    const batch = gather(next)
    const replies = committer.commitAll(batch.messages)
    port.postMessage({ replies, position: committer.position } satisfies BatchReply)
    company = batch.messages.length
    commits += 1
    if (commits % CHECKPOINT_AT === 0 || batch.bytes > LARGEST_BATCH / 2 || pagesWritten(batch.bytes)) checkpoint.get()
    next = batch.following ?? receive()
  }
  if (next === 'close') return close()
  idle = setTimeout(() => checkpoint.get(), 200)
})

setInterval(() => committer.forgetGuards(Date.now()), HOUR).unref()

type Batch = { readonly messages: CommitMessage[]; bytes: number; following?: WriterMessage }

/** What is waiting, and what arrives within a moment when the batch before had several commits. */
function gather(first: CommitMessage): Batch {
  const batch: Batch = { messages: [first], bytes: first.bodies.byteLength }
  const until = company > 1 ? performance.now() + GATHERING : 0
  while (batch.bytes < LARGEST_BATCH) {
    const message = receive()
    if (message === 'close') {
      batch.following = message
      break
    }
    if (message !== undefined) {
      batch.messages.push(message)
      batch.bytes += message.bodies.byteLength
    } else if (batch.messages.length < company && performance.now() < until) Atomics.wait(nap, 0, 0, 0.2)
    else break
  }
  return batch
}

const receive = (): WriterMessage | undefined => (receiveMessageOnPort(port) as { readonly message: WriterMessage } | undefined)?.message

let written = 0

function pagesWritten(bytes: number): boolean {
  written += bytes
  if (written < LARGEST_BATCH / 2) return false
  written = 0
  return true
}

function close(): void {
  clearTimeout(idle)
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  db.close()
  port.close()
}
