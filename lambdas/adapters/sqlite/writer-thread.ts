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
/** Once commits come in company, one waits for the others as long as they keep arriving: ms between two, and in all. */
const PATIENCE = { each: 1, all: 8 }
/** A batch this large is worth a flush of its own: bytes. */
const WORTH_A_FLUSH = 500_000
/** Bytes in the write-ahead log that make a checkpoint due: small ones, often, so that none takes long. */
const CHECKPOINT_AT = 8_000_000
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
    company = Math.max(batch.messages.length, company >> 1)
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

/** What is waiting, and what keeps arriving while commits come in company. A lone commit waits for nobody. */
function gather(first: CommitMessage): Batch {
  const batch: Batch = { messages: [first], bytes: bytesOf(first) }
  const began = performance.now()
  let arrived = began
  while (batch.bytes < LARGEST_BATCH) {
    const message = receive()
    if (message === 'close') {
      batch.following = message
      break
    }
    const now = performance.now()
    if (message !== undefined) {
      batch.messages.push(message)
      batch.bytes += bytesOf(message)
      arrived = now
    } else if (isExpecting(batch) && now - arrived < PATIENCE.each && now - began < PATIENCE.all) Atomics.wait(nap, 0, 0, 0.1)
    else break
  }
  return batch
}

const isExpecting = ({ messages, bytes }: Batch): boolean => company > 1 && messages.length < company * 2 && bytes < WORTH_A_FLUSH

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
