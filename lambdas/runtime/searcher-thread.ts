/** The thread that owns the search index: follows the store and answers searches, each with everything acknowledged before it. */
import { rmSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import type { Ask, Question, SearcherData, SearcherMessage, SearcherReply } from '../adapters/in-process/searcher.ts'
import { SqliteChangeFeed } from '../adapters/sqlite/change-feed.ts'
import { SqliteSearchIndex } from '../adapters/sqlite/search-index.ts'
import { built, type Definitions, defined, extracted, NO_DEFINITIONS, poisonedBy, rebuilt, tried } from '../indexing/custom-definitions.ts'
import { indexChanges, positionOf } from '../indexing/index-changes.ts'
import { type Progress, rebuildSlice } from '../indexing/rebuild.ts'
import type { ResourceVersion } from '../ports/resource-store.ts'
import { TooCostly, TooManyGroups } from '../ports/too-costly.ts'
import { EXTRACTOR } from '../search/extract.ts'
import { registryNumber } from '../search/parameters.ts'
import type { Reading } from '../search/reading.ts'

/** Versions indexed between two looks at the mailbox: about 10 ms. */
const SLICE = 128
/** And when it is far behind: rows of more documents fall together on a page. */
const BULK = 256
/** Documents after which the index commits. */
const COMMIT_EVERY = 20_000
/** And after so many milliseconds without work. */
const COMMIT_IDLE = 200

const port = parentPort!
const { store, index: file, budget, ...given } = workerData as SearcherData
const reading: Reading = given.reading
const feed = new SqliteChangeFeed(store)
const index = openIndex()
const waiting: Ask[] = []
let definitions: Definitions = { ...NO_DEFINITIONS, ...JSON.parse(String(index.note('definitions') ?? '{}')) }
/** How documents are read now. */
let now: Reading = { ...reading, custom: extracted(definitions) }
let progress: Progress | undefined
let position = positionOf(index)
let committed = position
let wanted = position
let working = false
let rebuilding = false
let closed = false
let idle: NodeJS.Timeout | undefined

port.on('message', (message: SearcherMessage) => {
  switch (message.kind) {
    case 'follow':
      return follow(message.position)
    case 'ask':
      if (message.position <= position) return answer(message)
      waiting.push(message)
      return follow(message.position)
    case 'rebuild':
      redefine(rebuilt(definitions, message.tenant, message.types))
      return rebuildOn()
    case 'close':
      closed = true
      clearTimeout(idle)
      index.close()
      feed.close()
      return port.close()
  }
})

/** An index that cannot be read, was made by another extractor, or knows more than the store is made anew. */
function openIndex(): SqliteSearchIndex {
  const maker = `${EXTRACTOR} ${registryNumber} ${JSON.stringify(reading)}`
  try {
    const found = new SqliteSearchIndex(file, { budget })
    const by = found.note('maker')
    if (by === undefined || (by === maker && isKnown(positionOf(found)))) return marked(found, maker)
    found.close()
  } catch {
    // Not a database, or a broken one: nothing in it is needed.
  }
  discard()
  return marked(new SqliteSearchIndex(file, { budget }), maker)
}

const isKnown = (position: number): boolean => position === 0 || feed.changes(position - 1, 1).length > 0

function discard(): void {
  for (const end of ['', '-wal', '-shm']) rmSync(file + end, { force: true })
}

function marked(index: SqliteSearchIndex, maker: string): SqliteSearchIndex {
  index.setNote('maker', maker)
  index.commit()
  return index
}

function follow(to: number): void {
  wanted = Math.max(wanted, to)
  if (working || position >= wanted) return
  working = true
  setImmediate(slice)
}

function slice(): void {
  working = false
  if (closed) return
  try {
    step()
  } catch (error) {
    return end(error)
  }
  while (waiting.length > 0 && waiting[0]!.position <= position) answer(waiting.shift()!)
  rebuildOn()
  follow(wanted)
}

function step(): void {
  const before = position
  position = indexChanges(feed, index, position, {
    limit: wanted - position > BULK ? BULK : SLICE,
    reading: () => now,
    onPoison,
    onVersion,
  })
  // The store has acknowledged more than this connection can see yet: it is looked at again.
  if (position === before) return
  clearTimeout(idle)
  idle = setTimeout(commit, COMMIT_IDLE)
  if (position - committed >= COMMIT_EVERY) commit()
  tell({ kind: 'position', position })
}

/** What SearchParameters define is part of the index: kept with its documents, told to who searches. */
function onVersion(version: ResourceVersion): void {
  if (version.type === 'SearchParameter') redefine(defined(definitions, version))
  const next = tried(definitions, version)
  if (next !== definitions) keep(next)
}

function redefine(next: Definitions): void {
  progress = undefined
  now = extracted(next).length === 0 ? reading : { ...reading, custom: extracted(next) }
  keep(next)
}

function keep(next: Definitions): void {
  definitions = next
  index.setNote('definitions', JSON.stringify(next))
  tell({ kind: 'definitions', definitions: next })
}

/** Types are rebuilt as long as there is nothing else to do. */
function rebuildOn(): void {
  if (rebuilding || definitions.rebuilds.length === 0 || position < wanted) return
  rebuilding = true
  setImmediate(rebuild)
}

/** One slice of the first of them. */
function rebuild(): void {
  rebuilding = false
  const [first] = definitions.rebuilds
  if (closed || first === undefined || position < wanted) return
  try {
    progress = rebuildSlice(index, progress ?? { rebuild: first }, {
      limit: SLICE,
      reading: now,
      onPoison,
      versionOf: (key) => feed.version(key),
    })
    if (progress.after === undefined) {
      redefine(built(definitions, progress.rebuild))
      commit()
    } else tell({ kind: 'definitions', definitions: { ...definitions, rebuilds: [progress.rebuild, ...definitions.rebuilds.slice(1)] } })
  } catch (error) {
    return end(error)
  }
  rebuildOn()
}

function onPoison(version: ResourceVersion, error: unknown): void {
  const reason = error instanceof Error ? error.name : typeof error
  keep(poisonedBy(definitions, version, reason))
  tell({ kind: 'poison', type: version.type, reason })
}

function commit(): void {
  index.commit()
  committed = position
}

function answer({ number, question }: Ask): void {
  try {
    tell({ kind: 'answer', number, answer: answerTo(question) })
  } catch (error) {
    if (isDamage(error)) return end(error)
    if (error instanceof TooCostly) tell({ kind: 'too-costly', number })
    else if (error instanceof TooManyGroups) tell({ kind: 'too-many-groups', number })
    else tell({ kind: 'failed', number, reason: String(error) })
  }
}

function answerTo({ method, of }: Question): unknown {
  switch (method) {
    case 'find':
      return index.findNow(...of)
    case 'explain':
      return index.explainNow(...of)
    case 'distinct':
      return index.distinctNow(...of)
    case 'groups':
      return index.groupsNow(...of)
  }
}

/** A file that turns out to be damaged is thrown away: the next thread makes another, and takes over what was asked. */
function end(error: unknown): void {
  if (isDamage(error)) discard()
  closed = true
  setImmediate(() => {
    throw error
  })
}

/** https://sqlite.org/rescode.html: SQLITE_CORRUPT, SQLITE_NOTADB. */
const DAMAGED = [11, 26]

const isDamage = (error: unknown): boolean => DAMAGED.includes((error as { readonly errcode?: number }).errcode ?? 0)

function tell(reply: SearcherReply): void {
  port.postMessage(reply)
}

tell({ kind: 'position', position })
tell({ kind: 'definitions', definitions })
rebuildOn()
