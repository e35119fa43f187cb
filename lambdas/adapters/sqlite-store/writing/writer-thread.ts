/**
 * The thread that owns the writing connection. SQLite blocks its thread while the disk flushes, so nobody else waits here.
 * Whatever has arrived is committed in one go: many commits cost one flush. Large ones are written in slices, and let others pass.
 */
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { KeyFilter } from '../keys/key-filter.ts'
import { openForWriting } from '../schema.ts'
import { type BatchReply, type Commit, type CommitMessage, type CommitReply, unpackCommit } from './commit-message.ts'
import { commitAll } from './committer.ts'
import { KeyMerge } from './key-merge.ts'
import { LogWriter } from './log-writer.ts'
import { Staging } from './staging.ts'

/**
 * `mostRecent`: keys after which they are taken over into their table (recent-keys.ts). `dictionarySize`: bytes of what is written of a type that
 * become its dictionary (content-packer.ts).
 */
export type WriterData = { readonly file: string; readonly mostRecent?: number; readonly dictionarySize?: number }
/** `keys`: of a KeyFilter. */
export type ThreadData = WriterData & { readonly keys: SharedArrayBuffer }
export type WriterMessage = CommitMessage | 'close'

/** Bytes of a batch, and of a commit that is written in slices. */
const LARGEST_BATCH = 6_000_000
/** A row takes as long as so many bytes. */
const ROW = 4_000
/** Once commits come in company, one waits for the others as long as they keep arriving: ms between two, and in all. */
const COMPANY = 5
const PATIENCE = { each: 2, all: 8 }
/** A batch this large is worth a flush of its own: bytes. */
const WORTH_A_FLUSH = 500_000
/** What makes a checkpoint due, so that none takes long: bodies, or keys, of which each may be in a page of its own. */
const CHECKPOINT_AT = { bytes: 2_500_000, keys: 1_000 }
const IDLE = 200
/** Keys, and some more that come while they are taken over: megabytes of memory in each thread that looks for keys, milliseconds when a store is opened. */
const MOST_RECENT = 20_000

const port = parentPort!
const { file, mostRecent = MOST_RECENT, dictionarySize, keys } = workerData as ThreadData
const db = openForWriting(file)
const old = new KeyFilter(keys)
const log = new LogWriter(db, old, dictionarySize)
const passive = db.prepare('PRAGMA wal_checkpoint(PASSIVE)')
const nap = new Int32Array(new SharedArrayBuffer(4))

/** What has arrived and waits. */
let small: Commit[] = []
const large: Commit[] = []
let staging: Staging | undefined
let merge: KeyMerge | undefined
let mergeAt = mostRecent
let filling: Iterator<void> | undefined = old.fill(db)
let isClosing = false

let chores = [
  { isDue: () => isCheckpointDue(), do: () => checkpoint() },
  { isDue: () => isMergeDue(), do: () => mergeKeys() },
  { isDue: () => staging !== undefined || large.length > 0, do: () => stageLarge() },
  { isDue: () => filling !== undefined && !isClosing, do: () => fillFilter() },
]

let company = 1
let idle: NodeJS.Timeout | undefined = setTimeout(rest, 0)

port.on('message', (message: WriterMessage) => {
  clearTimeout(idle)
  accept(message)
  while (small.length > 0 || large.length > 0 || staging !== undefined) {
    while (receive());
    commitSmall()
    // Between two batches one of them: who waits, waits for no more.
    doNextChore()
  }
  if (isClosing) return close()
  idle = setTimeout(rest, IDLE)
})

/** The one that was done is the last to be done again. False: there is none. */
function doNextChore(): boolean {
  const next = chores.find((chore) => chore.isDue())
  if (next === undefined) return false
  chores = [...chores.filter((chore) => chore !== next), next]
  next.do()
  return true
}

/** What is left to do while nobody asks for anything. */
function rest(): void {
  checkpoint()
  if (doNextChore()) idle = setTimeout(rest, 0)
}

function accept(message: WriterMessage): void {
  if (message === 'close') {
    isClosing = true
    return
  }
  const commit = unpackCommit(message)
  if (commit.writes.length > 1 && bytesOf(commit) > LARGEST_BATCH) large.push(commit)
  else small.push(commit)
}

function receive(): boolean {
  const received = receiveMessageOnPort(port) as { readonly message: WriterMessage } | undefined
  if (received !== undefined) accept(received.message)
  return received !== undefined
}

function commitSmall(): void {
  if (staging === undefined && large.length === 0) waitForCompany()
  const batch = takeSmall()
  if (batch.length === 0) return
  reply(commitAll(log, batch))
  company = Math.max(batch.length, company >> 1)
}

/** Takes in what keeps arriving while commits come in company. A few gain less from a shared flush than they lose by waiting. */
function waitForCompany(): void {
  const began = performance.now()
  let arrived = began
  while (!isClosing && company >= COMPANY && small.length < company * 2 && bytesOfAll(small) < WORTH_A_FLUSH) {
    const now = performance.now()
    if (receive()) arrived = now
    else if (now - arrived < PATIENCE.each && now - began < PATIENCE.all) Atomics.wait(nap, 0, 0, 0.1)
    else return
  }
}

/** As many of those that wait as make a batch, without those that have to wait for what is being staged. */
function takeSmall(): readonly Commit[] {
  const batch: Commit[] = []
  let [bytes, position] = [0, log.position]
  small = small.filter((commit) => {
    const fits = batch.length === 0 || bytes + bytesOf(commit) <= LARGEST_BATCH
    if (!fits || staging?.holdsUp(commit, position) === true) return true
    batch.push(commit)
    bytes += bytesOf(commit)
    position += commit.writes.length
    return false
  })
  return batch
}

function stageLarge(): void {
  if (staging === undefined && large.length > 0) staging = new Staging(log, large.shift()!)
  try {
    const done = staging?.step()
    if (done === undefined) return
    staging = undefined
    reply([done])
  } catch (error) {
    // Opening the file again removes what was staged: the next commit starts a thread that does.
    db.close()
    throw error
  }
}

function mergeKeys(): void {
  try {
    merge ??= new KeyMerge(log)
    if (!merge.step()) return
    mergeAt = mostRecent
  } catch {
    // A full disk, for instance: commits will tell. The keys stay where they are, and are tried again when there are more.
    mergeAt = log.recent.size + mostRecent
  }
  merge = undefined
}

function fillFilter(): void {
  try {
    if (filling?.next().done === false) return
  } catch {
    // A damaged file, for instance: reads will tell. They look into the table for every key.
  }
  filling = undefined
}

const reply = (replies: readonly CommitReply[]): void => port.postMessage({ replies, position: log.position } satisfies BatchReply)

const bytesOfAll = (commits: readonly Commit[]): number => commits.reduce((sum, commit) => sum + bytesOf(commit), 0)

const bytesOf = ({ bytes, writes }: Commit): number => bytes + writes.length * ROW

const isMergeDue = (): boolean => log.recent.size >= mergeAt && !isClosing

const isCheckpointDue = (): boolean => log.written.keys >= CHECKPOINT_AT.keys || log.written.bytes >= CHECKPOINT_AT.bytes

/** Moves the log into the file. Where that fails nothing is lost: the log stays. */
function checkpoint(): void {
  log.written = { keys: 0, bytes: 0 }
  try {
    passive.get()
    log.forgetGuards()
  } catch {
    // A full disk, for instance: commits will tell.
  }
}

function close(): void {
  checkpoint()
  db.close()
  port.close()
}
