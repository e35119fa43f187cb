/** Program of the index thread. It follows the store and answers searches once the versions they need are indexed. */
import { parentPort, workerData } from 'node:worker_threads'
import { SearchPreempted } from '../../../adapters/sqlite-index/reading/budget.ts'
import type { SqliteSearchIndex } from '../../../adapters/sqlite-index/search-index.ts'
import { SqliteChangeFeed } from '../../../adapters/sqlite-store/change-feed.ts'
import { isDamageError } from '../../../adapters/sqlite-store/damage.ts'
import type { Definitions } from '../../../indexing/custom-definitions.ts'
import { FeedFollower } from '../../../indexing/feed/follower.ts'
import { furthestOf, positionOf } from '../../../indexing/feed/lines.ts'
import { ParameterPrefetch } from '../../../indexing/parameter-prefetch.ts'
import { isFault, type MachineFault } from '../../../ports/faults.ts'
import { mappingsOf, resolvePackageParameters } from '../../../search/custom/package-parameters.ts'
import { expressionRunner } from '../../expressions/forked-expressions.ts'
import {
  adoptBaseUrls,
  hasPosition,
  type IndexFileParts,
  nextIndexFile,
  openIndexFiles,
  removeIndexFile,
  replaceIndexFile,
} from './index-files.ts'
import { callIndex } from './index-questions.ts'
import { RebuildReport } from './rebuild-report.ts'
import { mustYield } from './search-preemption.ts'
import type { IndexRequest, SearchThreadData, SearchThreadMessage, SearchThreadReply } from './thread-messages.ts'
import { unindexableReport } from './unindexable-report.ts'
import { BULK, COMMIT_EVERY, COMMIT_IDLE, COMMIT_NEXT_EVERY, SLICE } from './work-sizes.ts'
import { YieldedSearches } from './yielded-searches.ts'

type Followed = { readonly index: SqliteSearchIndex; readonly follower: FeedFollower }

const port = parentPort!
const { store, index: file, budget, reading, defining = [], asked, stored } = workerData as SearchThreadData
const feed = new SqliteChangeFeed(store)
const expressions = expressionRunner()
const prefetch = new ParameterPrefetch(expressions, (tenant, error) => {
  tell({ kind: 'notice', text: `Tenant ${tenant} is not indexed while its custom parameters cannot be evaluated: ${error}` })
})
const parts: IndexFileParts = {
  file,
  budget,
  reading,
  isKnown: (position) => hasPosition(feed, position),
  givesWay: (ran) => mustYield({ ran, lost, budget, waiting: othersNow() }),
}
const opened = openIndexFiles(parts)
const waiting: IndexRequest[] = []
const yielded = new YieldedSearches((ask, lostBefore) => !closed && answer(ask, lostBefore))
/** Milliseconds that earlier attempts of the running search have lost to preemption. */
let lost = 0
const onPoison = unindexableReport(tell)
/** Parameters of packages, and the time at which they were set, in milliseconds since 1970. Absent until the server sends them. */
let packaged: Parameters<FeedFollower['setPackageParameters']> | undefined
let answering = followed(opened.answering, COMMIT_EVERY, tellDefinitions)
/** Next index, which is built during a rebuild and then replaces the serving index. */
let next = opened.next === undefined ? undefined : followed(opened.next, COMMIT_NEXT_EVERY, () => undefined)
let wanted = answering.follower.positions.all
/** Report of a rebuild on the versions stored at the start of the thread. Absent if there is no rebuild, or the store was empty. */
const rebuild =
  opened.reason === undefined || stored === 0
    ? undefined
    : new RebuildReport(opened.reason, stored, opened.next !== undefined, (text) => tell({ kind: 'notice', text }))
let scheduled = false
/** Whether the store could not be read. Then work stops until the next request or write starts another attempt. */
let stuck = false
let closed = false
let idle: NodeJS.Timeout | undefined

port.on('message', (message: SearchThreadMessage) => {
  switch (message.kind) {
    case 'follow':
      return follow(message.position)
    case 'ask':
      Atomics.sub(asked, 0, 1)
      if (isReached(message)) return answer(message)
      waiting.push(message)
      hasten(message)
      return follow(message.position)
    case 'forget':
      return forget(message.number)
    case 'rebuild':
      answering.follower.requestRebuild(message.tenant, message.types)
      return schedule()
    case 'packages':
      return setPackages(message)
    case 'close':
      return close()
  }
})

function followed(index: SqliteSearchIndex, commitEvery: number, onChange: (changed: Partial<Definitions>) => void): Followed {
  const follower = new FeedFollower({ feed, index, reading, defining, prefetch, onPoison, commitEvery, onChange })
  if (packaged !== undefined) follower.setPackageParameters(...packaged)
  return { index, follower }
}

function setPackages({ number, packages, at }: Extract<SearchThreadMessage, { kind: 'packages' }>): void {
  attempt(file, () => {
    packaged = [mappingsOf(resolvePackageParameters(packages)), at]
    for (const { follower } of next === undefined ? [answering] : [answering, next]) follower.setPackageParameters(...packaged)
    tell({ kind: 'packages', number })
  })
  schedule()
}

function hasten({ tenant, position }: IndexRequest): void {
  if (tenant !== undefined) attempt(file, () => answering.follower.hasten(tenant, position))
}

function follow(to: number): void {
  wanted = Math.max(wanted, to)
  tellRebuild()
  schedule()
}

function schedule(): void {
  if (scheduled || closed) return
  scheduled = true
  stuck = false
  setImmediate(turn)
}

/** Does a slice of the most urgent work and schedules the next one. The thread receives messages between two slices. */
function turn(): void {
  scheduled = false
  if (closed) return
  const isDone = work()
  if (stuck || !isDone) return
  answerWaiting()
  schedule()
}

/** Does one slice of work. Returns false if there is nothing to do before the next message or the end of an evaluation. */
function work(): boolean {
  const { follower } = answering
  attempt(file, () => evaluateFor(follower, wanted))
  if (stuck || closed) return false
  if (follower.canFollow(wanted)) attempt(file, catchUp)
  else if (follower.canRebuild()) attempt(file, () => follower.rebuild(SLICE))
  else if (next !== undefined) return workOnNext()
  else return false
  return true
}

/**
 * Starts the next evaluations of custom parameters. Meanwhile the thread answers searches and indexes versions that need no evaluation. An
 * evaluation that the runner rejects is started again by the next request, write, or end of another evaluation.
 */
function evaluateFor(follower: FeedFollower, end: number): void {
  for (const evaluated of follower.evaluate(SLICE, end)) evaluated.then((isOver) => isOver && schedule())
}

const sliceNow = (): number => (wanted - answering.follower.positions.all > BULK ? BULK : SLICE)

function catchUp(): void {
  const { follower } = answering
  // Nothing was indexed: this connection may not see the acknowledged versions yet. The next turn reads again.
  if (!follower.follow(sliceNow(), wanted)) return
  clearTimeout(idle)
  idle = setTimeout(commitStep, COMMIT_IDLE)
  tell({ kind: 'positions', positions: follower.positions })
  tellRebuild()
}

const tellRebuild = (): void => rebuild?.at((next ?? answering).follower.position)

/** Commits the index in steps, so that searches are answered between two steps. */
function commitStep(): void {
  attempt(file, () => {
    if (!answering.follower.commitStep()) idle = setTimeout(commitStep, 0)
  })
}

/** Does one slice of work on the next index. Returns false if that has to wait for an evaluation. */
function workOnNext(): boolean {
  let isDone = true
  attempt(nextIndexFile(file), () => {
    isDone = makeNext(next!.follower, furthestOf(answering.follower.positions))
  })
  return isDone
}

/** Works on the next index, or exchanges it at `end`, the position to reach. Returns false if it has to wait for an evaluation. */
function makeNext(follower: FeedFollower, end: number): boolean {
  evaluateFor(follower, end)
  if (follower.canFollow(end)) follower.follow(SLICE, end)
  else if (follower.canRebuild()) follower.rebuild(SLICE)
  else if (follower.position < end || follower.rebuilds.length > 0) return false
  else {
    exchange()
    return true
  }
  tellDefinitions({ rebuilds: answering.follower.rebuilds })
  tellRebuild()
  return true
}

function exchange(): void {
  clearTimeout(idle)
  answering = followed(replaceIndexFile(parts, { answering: answering.index, next: next!.index }), COMMIT_EVERY, tellDefinitions)
  next = undefined
  rebuild?.done()
  tell({ kind: 'positions', positions: answering.follower.positions })
  tellDefinitions(answering.follower.definitions)
}

/** Answers the waiting searches whose position is reached, in any order: a later one may need an earlier position. */
function answerWaiting(): void {
  for (let at = waiting.findIndex(isReached); at >= 0; at = waiting.findIndex(isReached)) answer(waiting.splice(at, 1)[0]!)
}

const isReached = ({ position, tenant }: IndexRequest): boolean => position <= positionOf(answering.follower.positions, tenant)

function answer(ask: IndexRequest, lostBefore = 0): void {
  const { number, question } = ask
  const began = performance.now()
  lost = lostBefore
  try {
    tell({ kind: 'answer', number, answer: callIndex(answering.index, question) })
  } catch (error) {
    if (isDamageError(error)) return end(file, error)
    if (error instanceof SearchPreempted) yielded.add(ask, lost + performance.now() - began)
    else if (isFault(error, 'too-costly') || isFault(error, 'too-many-groups')) tell({ kind: error.fault, number })
    else tell({ kind: 'failed', number, reason: String(error) })
  }
}

/** Returns the number of requests that the thread has not read, or that wait for the index. */
const othersNow = (): number => Atomics.load(asked, 0) + waiting.length

function forget(number: number): void {
  yielded.forget(number)
  const at = waiting.findIndex((ask) => ask.number === number)
  if (at >= 0) waiting.splice(at, 1)
}

function attempt(path: string, work: () => void): void {
  try {
    work()
  } catch (error) {
    if (isFault(error, 'store-damaged')) giveUp(error)
    else end(path, error)
  }
}

/** Stops following a store that cannot be read, and forgets the waiting requests: the server rejects them. */
function giveUp({ message }: MachineFault): void {
  stuck = true
  waiting.splice(0)
  tell({ kind: 'store-damaged', reason: message })
}

/** Ends the thread. The next one takes over its requests. Deletes a damaged index, so that the next thread rebuilds it. */
function end(path: string, error: unknown): void {
  closed = true
  clearTimeout(idle)
  if (isDamageError(error)) {
    removeIndexFile(path)
    tell({ kind: 'index-damaged' })
    return port.close()
  }
  setImmediate(() => {
    throw error
  })
}

function close(): void {
  closed = true
  clearTimeout(idle)
  expressions.close()
  answering.index.close()
  next?.index.close()
  feed.close()
  port.close()
}

/** Reports changed definitions to the server. The building of a next index is reported as a rebuild too. */
function tellDefinitions(changed: Partial<Definitions>): void {
  const { rebuilds } = changed
  const making = next === undefined ? [] : [{ tenant: '', type: 'Resource', done: next.follower.position, total: wanted }]
  tell({ kind: 'definitions', definitions: rebuilds === undefined ? changed : { ...changed, rebuilds: [...rebuilds, ...making] } })
}

function tell(reply: SearchThreadReply): void {
  port.postMessage(reply)
}

adoptBaseUrls(answering, opened.newBases, reading)
tellDefinitions(answering.follower.definitions)
tell({ kind: 'positions', positions: answering.follower.positions })
schedule()
