/**
 * Thread that owns the writing connection. SQLite blocks its thread while the disk flushes, so no other work runs here. Commits that wait
 * share a transaction and its flush, up to LARGEST_BATCH. Large commits are written in slices, with other commits in between.
 */
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { KeyFilter } from '../keys/key-filter.ts'
import { openForWriting } from '../schema.ts'
import { BatchWait, type WaitingCommits } from './batch-wait.ts'
import { type BatchReply, type Commit, type CommitMessage, type CommitReply, unpackCommit } from './commit-message.ts'
import { commitAll } from './committer.ts'
import { KeyMerge } from './key-merge.ts'
import { LogWriter } from './log-writer.ts'
import { Staging } from './staging.ts'

/**
 * `mostRecent`: number of recent keys at which a merge into the key table starts (recent-keys.ts). `dictionarySize`: bytes of a dictionary
 * (content-packer.ts).
 */
export type WriterData = { readonly file: string; readonly mostRecent?: number; readonly dictionarySize?: number }
/** `keys`: shared buffer of the KeyFilter. */
export type ThreadData = WriterData & { readonly keys: SharedArrayBuffer }
export type WriterMessage = CommitMessage | 'close'

/** Maximum weight of a batch: bytes of bodies, plus ROW per write. A heavier commit is written in slices, unless it has only one write. */
const LARGEST_BATCH = 6_000_000
/** Weight of a row in bytes, in addition to its body: writing a row takes as long as writing this many bytes. */
const ROW = 4_000
/**
 * Work after which a checkpoint is due, so that no checkpoint takes long. `bytes`: stored bytes of bodies. `keys`: merged keys, each of
 * which may change its own page.
 */
const CHECKPOINT_AT = { bytes: 2_500_000, keys: 1_000 }
/** Milliseconds without a commit after which remaining work begins. */
const IDLE = 200
/**
 * Number of recent keys at which a merge starts. Some more arrive during it. Recent keys take megabytes in each reading thread, and
 * milliseconds when a store is opened.
 */
const MOST_RECENT = 20_000

const port = parentPort!
const { file, mostRecent = MOST_RECENT, dictionarySize, keys } = workerData as ThreadData
const db = openForWriting(file)
const old = new KeyFilter(keys)
const log = new LogWriter(db, old, dictionarySize)
const passive = db.prepare('PRAGMA wal_checkpoint(PASSIVE)')
const wait = new BatchWait()

/** Commits that wait for the next batches. */
let small: Commit[] = []
/** Commits that wait to be written in slices. */
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

let idle: NodeJS.Timeout | undefined = setTimeout(rest, 0)

port.on('message', (message: WriterMessage) => {
  clearTimeout(idle)
  accept(message)
  while (small.length > 0 || large.length > 0 || staging !== undefined) {
    while (receive());
    commitSmall()
    // Only one chore runs between two batches, so that a batch is delayed by at most one.
    doNextChore()
  }
  if (isClosing) return close()
  idle = setTimeout(rest, IDLE)
})

/** Runs the first chore that is due, and moves it to the end of the list. Returns false if none is due. */
function doNextChore(): boolean {
  const next = chores.find((chore) => chore.isDue())
  if (next === undefined) return false
  chores = [...chores.filter((chore) => chore !== next), next]
  next.do()
  return true
}

/** Runs a checkpoint and one chore while no commits arrive. Repeats this until no chore is due. */
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
  if (staging === undefined && large.length === 0) wait.forMore(waitingCommits, receive)
  const batch = takeSmall()
  if (batch.length === 0) return
  reply(commitAll(log, batch))
  wait.committed(batch.length)
}

/**
 * Returns the commits of the next batch and removes them from the waiting ones. Commits that do not fit, or must wait for the staged
 * commit, remain.
 */
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
    // The next commit starts a new thread. It opens the file again, which removes the staged versions.
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
    // A later commit reports the cause, such as a full disk. The keys stay in `recent`, and the merge is tried again when there are more.
    mergeAt = log.recent.size + mostRecent
  }
  merge = undefined
}

function fillFilter(): void {
  try {
    if (filling?.next().done === false) return
  } catch {
    // A later read reports the cause, such as a damaged file. Until the filter is complete, every lookup that misses the recent keys reads
    // the key table.
  }
  filling = undefined
}

const reply = (replies: readonly CommitReply[]): void => port.postMessage({ replies, position: log.position } satisfies BatchReply)

const waitingCommits = (): WaitingCommits => ({ count: small.length, weight: small.reduce((sum, commit) => sum + bytesOf(commit), 0) })

const bytesOf = ({ bytes, writes }: Commit): number => bytes + writes.length * ROW

const isMergeDue = (): boolean => log.recent.size >= mergeAt && !isClosing

const isCheckpointDue = (): boolean => log.written.keys >= CHECKPOINT_AT.keys || log.written.bytes >= CHECKPOINT_AT.bytes

/** Moves the SQLite log into the file as far as readers allow, and deletes old guards. A failure loses nothing, because the log remains. */
function checkpoint(): void {
  log.written = { keys: 0, bytes: 0 }
  try {
    passive.get()
    log.forgetGuards()
  } catch {
    // A later commit reports the cause, such as a full disk.
  }
}

function close(): void {
  checkpoint()
  db.close()
  port.close()
}
