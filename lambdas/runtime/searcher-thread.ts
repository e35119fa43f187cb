/** The thread that owns the search index: follows the store and answers searches, each with everything acknowledged before it. */
import { rmSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import type { SearcherData, SearcherMessage, SearcherReply } from '../adapters/in-process/searcher.ts'
import { SqliteChangeFeed } from '../adapters/sqlite/change-feed.ts'
import { SqliteSearchIndex } from '../adapters/sqlite/search-index.ts'
import { indexChanges, positionOf } from '../indexing/index-changes.ts'
import { EXTRACTOR } from '../search/extract.ts'
import { registryNumber } from '../search/parameters.ts'
import type { Plan } from '../search/plan.ts'

/** Versions indexed between two looks at the mailbox: about 10 ms. */
const SLICE = 128
/** Documents after which the index commits. */
const COMMIT_EVERY = 5_000
/** And after so many milliseconds without work. */
const COMMIT_IDLE = 200

const port = parentPort!
const { store, index: file } = workerData as SearcherData
const feed = new SqliteChangeFeed(store)
const index = openIndex()
let position = positionOf(index)
let committed = position
let wanted = position
let working = false
let closed = false
let idle: NodeJS.Timeout | undefined

port.on('message', (message: SearcherMessage) => {
  switch (message.kind) {
    case 'follow':
      wanted = Math.max(wanted, message.position)
      return work()
    case 'find':
      return reply(message.number, message.plan, message.position)
    case 'close':
      closed = true
      clearTimeout(idle)
      index.close()
      feed.close()
      return port.close()
  }
})

/** An index that cannot be read, or was made by another extractor, is made anew. */
function openIndex(): SqliteSearchIndex {
  const maker = `${EXTRACTOR} ${registryNumber}`
  try {
    const found = new SqliteSearchIndex(file)
    const by = found.note('maker')
    if (by === maker || by === undefined) return marked(found, maker)
    found.close()
  } catch {
    // Not a database, or a broken one: nothing in it is needed.
  }
  for (const end of ['', '-wal', '-shm']) rmSync(file + end, { force: true })
  return marked(new SqliteSearchIndex(file), maker)
}

function marked(index: SqliteSearchIndex, maker: string): SqliteSearchIndex {
  index.setNote('maker', maker)
  index.commit()
  return index
}

function work(): void {
  if (working) return
  working = true
  setImmediate(slice)
}

function slice(): void {
  working = false
  if (closed || position >= wanted) return
  step()
  if (position < wanted) work()
}

function step(): void {
  const before = position
  position = indexChanges(feed, index, position, SLICE, (version, error) =>
    port.postMessage({
      kind: 'poison',
      type: version.type,
      reason: error instanceof Error ? error.name : typeof error,
    } satisfies SearcherReply),
  )
  // The store has acknowledged more than this connection can see yet: look again.
  if (position === before) return
  clearTimeout(idle)
  idle = setTimeout(commit, COMMIT_IDLE)
  if (position - committed >= COMMIT_EVERY) commit()
  port.postMessage({ kind: 'position', position } satisfies SearcherReply)
}

function commit(): void {
  index.commit()
  committed = position
}

function reply(number: number, plan: Plan, upTo: number): void {
  try {
    while (position < upTo) step()
    port.postMessage({ kind: 'found', number, page: index.findNow(plan) } satisfies SearcherReply)
  } catch (error) {
    port.postMessage({ kind: 'failed', number, reason: error instanceof Error ? error.message : String(error) } satisfies SearcherReply)
  }
}

port.postMessage({ kind: 'position', position } satisfies SearcherReply)
