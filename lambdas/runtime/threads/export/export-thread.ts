/** Program of the export thread. It runs the same state machine as AWS, and reads the store through its own connection. */
import { randomUUID } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { setTimeout as wait } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { FilesystemBlobStore } from '../../../adapters/filesystem/blob-store.ts'
import { type CallMessage, ThreadCalls } from '../../../adapters/in-process/thread-calls.ts'
import { InProcessWorkflow } from '../../../adapters/in-process/workflow.ts'
import { SqliteRows } from '../../../adapters/sqlite-rows/rows.ts'
import { SqliteResourceReader } from '../../../adapters/sqlite-store/resource-reader.ts'
import type { ExportParts, StepInput } from '../../../export/step-types.ts'
import { exportStep } from '../../../export/workflow/workflow-step.ts'
import { exportWorkflow } from '../../../export/workflow.ts'
import { isFault } from '../../../ports/faults.ts'
import type { SearchContext } from '../../../search/search-context.ts'
import { expressionRunner } from '../../expressions/forked-expressions.ts'
import { CpuShare } from './cpu-share.ts'
import { readDiskSpace, withDiskReserve } from './disk-reserve.ts'
import { lowerPriority } from './thread-priority.ts'
import type { ExportThreadData, ExportThreadReply } from './threaded-workflow.ts'

/** How long a step starts further work, in milliseconds. Then another job gets its turn. */
const BUDGET = 10_000
/** Number of segments written at the same time. More would not be faster on one thread, and each takes tens of MB. */
const WRITERS = 1

lowerPriority()
const port = parentPort!
const data = workerData as ExportThreadData
const { folder, groupTypes, additionalResources, partners, requests } = data
const rows = new SqliteRows(data.rows)
const reader = new SqliteResourceReader(data.store)
const room = new CpuShare(availableParallelism())
const expressions = expressionRunner()
const readings = new Map<string, { readonly text: string; readonly reading: SearchContext }>()
let used = process.threadCpuUsage()
let isClosing = false
/** Time of the server at the start of the latest step, and the time of this thread then. */
let clock = { time: Date.now(), steady: performance.now() }

const calls = new ThreadCalls(tell, {
  start: (name: string, input: Readonly<Record<string, unknown>>) => workflow.start(name, input),
  stop: (name: string) => workflow.stop(name),
  isRunning: (name: string) => workflow.isRunning(name),
  close,
})

const parts: ExportParts = {
  rows,
  resources: {
    current: (...asked) => giving(() => reader.current(...asked)),
    heads: (...asked) => giving(() => reader.heads(...asked)),
    versions: (...asked) => giving(() => reader.versions(...asked)),
    history: (...asked) => giving(() => reader.history(...asked)),
    extent: (request, every) => giving(() => reader.extent(request, every)),
    async *scan(request) {
      for await (const page of reader.scan(request)) {
        yield page
        await giveRoom()
      }
    },
    settled: (tenant, instant) => calls.call('settled', tenant, instant),
  },
  index: { find: (plan) => calls.call('find', plan), distinct: (...asked) => calls.call('distinct', ...asked) },
  blobs: withDiskReserve(new FilesystemBlobStore(folder), () => readDiskSpace(folder)),
  readingOf: async (tenant) => sameReading(tenant, await calls.call<SearchContext>('readingOf', tenant)),
  storeMatch: ({ id, tenant, client, baseUrl }, match) => calls.call('storeMatch', { id, tenant, client, baseUrl }, match),
  isPartner: (client) => calls.call('isPartner', client),
  matchLimits: {
    blockedAmong: (client, members) => calls.call('blockedAmong', client, members),
    count: (client, count) => calls.call('count', client, count),
  },
  expressions: () => expressions,
  now: () => Math.floor(clock.time + performance.now() - clock.steady),
  elapsed: () => performance.now(),
  newId: () => randomUUID(),
  budget: BUDGET,
  groupTypes,
  additionalResources,
  partners,
  disclosing: { blobs: new FilesystemBlobStore(data.disclosing.folder), payer: data.disclosing.payer },
  report,
}

const step = exportStep(parts)
const workflow = new InProcessWorkflow({
  definition: exportWorkflow('export-step'),
  step: telling,
  writers: WRITERS,
  report,
})

/** Runs a step and reports its start and end. If the thread dies, the server knows from this whose steps it was running. */
async function telling(input: StepInput): Promise<unknown> {
  const { job } = input
  tell({ kind: 'begins', job })
  try {
    await setClock()
    return await step(input)
  } finally {
    tell({ kind: 'ends', job })
  }
}

/** Sets the clock to that of the server. The clock of the machine may differ by weeks, and the server compares stored times with its own. */
async function setClock(): Promise<void> {
  const time = await calls.call<number>('now')
  clock = { time, steady: performance.now() }
}

port.on('message', (message: CallMessage) => calls.receive(message))

async function giving<Result>(read: () => Promise<Result>): Promise<Result> {
  await giveRoom()
  return read()
}

/**
 * Pauses before a read, so that requests get processor time. Throws an Error if the thread is closing. Its step then fails, and a later
 * thread repeats it.
 */
async function giveRoom(): Promise<void> {
  if (isClosing) throw new Error('the thread of exports closes')
  const { user, system } = process.threadCpuUsage(used)
  const pause = room.pauseAfter((user + system) / 1000, Atomics.load(requests, 0))
  if (pause >= 1) await wait(pause)
  used = process.threadCpuUsage()
}

/** Returns the previous object if the search context is unchanged, because prepared values are cached by that object. */
function sameReading(tenant: string, reading: SearchContext): SearchContext {
  const text = JSON.stringify(reading)
  const known = readings.get(tenant)
  if (known?.text === text) return known.reading
  readings.set(tenant, { text, reading })
  return reading
}

function report(error: unknown): void {
  if (isClosing) return
  const { name = typeof error, stack = '' } = (error ?? {}) as Partial<Error>
  const places = stack.split('\n').filter((line) => /^\s+at /.test(line))
  tell({ kind: 'broke', name, places: places.join('\n'), ...(isFault(error, 'store-damaged') ? { damage: error.message } : {}) })
}

function tell(reply: ExportThreadReply): void {
  port.postMessage(reply)
}

async function close(): Promise<void> {
  isClosing = true
  await workflow.close()
  expressions.close()
  reader.close()
  rows.close()
  port.close()
}
