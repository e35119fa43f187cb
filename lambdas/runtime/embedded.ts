/** The embedded home: the whole server in one process, on SQLite and files. */
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import type { Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { FilesystemAuditLog } from '../adapters/filesystem/audit-log.ts'
import { FilesystemBlobStore } from '../adapters/filesystem/blob-store.ts'
import { type Command, listenForCommands } from '../adapters/filesystem/command-socket.ts'
import { type DataFolder, openDataFolder } from '../adapters/filesystem/data-folder.ts'
import { AesSeal } from '../adapters/in-process/seal.ts'
import { type TimeSources, WatchedClock } from '../adapters/in-process/watched-clock.ts'
import { openToAll } from '../http/authenticators.ts'
import type { Site } from '../http/exchange.ts'
import { nodeServer } from '../http/node-server.ts'
import { performer } from '../http/perform.ts'
import type { BodyStepParts } from '../http/pipelines/reading.ts'
import { searchingSteps } from '../http/pipelines/searching.ts'
import { writingSteps } from '../http/pipelines/writing.ts'
import { type Serve, server } from '../http/server.ts'
import type { TokenParts } from '../http/steps/index-token.ts'
import { statusOf } from '../indexing/index-state.ts'
import { Readings } from '../indexing/reading-now.ts'
import { bundle } from '../interactions/bundle.ts'
import { entryInteractions } from '../interactions/entry-interactions.ts'
import type { Ports, RequestWriter } from '../interactions/interaction.ts'
import { integrityWriter } from '../interactions/referential-integrity.ts'
import { reindexStatus, startReindex } from '../interactions/reindex.ts'
import { seenThrough } from '../interactions/seen.ts'
import { forgetQueries } from '../interactions/stored-query.ts'
import type { BlobStore } from '../ports/blob-store.ts'
import type { Clock } from '../ports/clock.ts'
import { Overloaded } from '../ports/overloaded.ts'
import type { IndexProgress, Reindex } from '../ports/reindex.ts'
import type { Seal } from '../ports/seal.ts'
import { clockCommands } from './accept-clock.ts'
import { commitRestored, storeCommands, takeRestored } from './backup.ts'
import type { Config } from './config.ts'
import { Gate } from './gate.ts'
import { pacedWriter } from './paced-writer.ts'
import { readingOf } from './reading-of.ts'
import { restoring } from './restoring.ts'
import { stampedWriter } from './stamped-writer.ts'
import { openStores, type Stores } from './stores.ts'

export type EmbeddedOptions = {
  readonly config: Config
  /** Absent: a private folder, gone when the server closes. */
  readonly dataFolder?: string
  /** Without a slash at the end. */
  readonly baseUrl: string
  readonly report: (error: unknown, requestId: string) => void
  /** Where the time comes from; absent: the machine. */
  readonly times?: TimeSources
  /** Told what the person who starts the server should know, in one line each. */
  readonly warn?: (line: string) => void
}

export type Embedded = {
  /** Listens on nothing yet. */
  readonly server: Server
  /** Finishes what is under way, then closes the stores. */
  readonly close: () => Promise<void>
}

const HOUR = 60 * 60 * 1000

/** Where it fails, nothing stays open. What it opened is closed the other way round, all of it, also where some of it cannot be closed. */
export async function openEmbedded(options: EmbeddedOptions): Promise<Embedded> {
  const { config, baseUrl, report, times, warn = () => undefined } = options
  await using opened = new AsyncDisposableStack()
  const folder = options.dataFolder ?? passingFolder(opened)
  const data = await openDataFolder(folder)
  opened.defer(data.unlock)
  for (const line of data.warnings) warn(line)
  const clock = new WatchedClock(warn, times)
  const audit = auditOf(data, clock, options)
  opened.defer(() => audit.close())
  const parts = { ...options, data, clock, audit, seal: new AesSeal(await data.key()), blobs: new FilesystemBlobStore(data.path('blobs')) }
  const open = async (): Promise<Home> => {
    await takeRestored(folder)
    return openHome(parts)
  }
  const gate = new Gate(await open())
  opened.defer(() => gate.close((home) => home.close()))
  const ending = new AbortController()
  opened.defer(() => ending.abort())
  const server = nodeServer(serveThrough(gate), {
    basePath: new URL(baseUrl).pathname.replace(/\/$/, ''),
    maxBody: config.maxBodyBytes,
    maxRequests: config.maxRequests,
    newRequestId: () => randomUUID(),
    report,
  })
  opened.defer(() => closeServer(server))
  const restore = restoring({ gate, commit: (file) => commitRestored(folder, file), open, warn, attempts: { signal: ending.signal } })
  opened.defer(await listen(folder, { ...storeCommands(gate, restore), ...clockCommands(clock) }, warn))
  forgetEachHour(opened, parts)
  const all = opened.move()
  return { server, close: () => all.disposeAsync() }
}

/** Gone when the server closes. */
function passingFolder(opened: AsyncDisposableStack): string {
  const folder = mkdtempSync(join(tmpdir(), 'fhir-'))
  opened.defer(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

const auditOf = (data: DataFolder, clock: WatchedClock, { config, report }: EmbeddedOptions): FilesystemAuditLog =>
  new FilesystemAuditLog({
    folder: data.path('audit'),
    retentionDays: config.auditRetentionDays,
    maySweep: () => clock.maySweep(),
    durability: config.auditDurability,
    onError: (error) => report(error, ''),
  })

/** Without it the server serves all the same. */
async function listen(
  folder: string,
  commands: Readonly<Record<string, Command>>,
  warn: (line: string) => void,
): Promise<() => Promise<void>> {
  try {
    return await listenForCommands(folder, commands)
  } catch (error) {
    warn(`Backup and restore cannot reach this server (${(error as Error).message}): they need it stopped`)
    return async () => undefined
  }
}

type Kept = Pick<EmbeddedOptions, 'config' | 'baseUrl' | 'report'> & {
  readonly data: DataFolder
  readonly clock: WatchedClock
  readonly audit: FilesystemAuditLog
  readonly seal: Seal
  readonly blobs: BlobStore
}

function forgetEachHour(opened: AsyncDisposableStack, { clock, blobs, report }: Kept): void {
  const forget = () => void (clock.maySweep() && forgetQueries(blobs, clock.now()).catch((error) => report(error, '')))
  forget()
  const forgetting = setInterval(forget, HOUR).unref()
  opened.defer(() => clearInterval(forgetting))
}

/** `refuse` needs nothing that is kept: it answers also when that is closed. */
type Home = { readonly serve: Serve; readonly refuse: Serve; readonly close: () => Promise<void> }

const serveThrough =
  (gate: Gate<Home>): Serve =>
  (http, requestId) =>
    gate.pass(
      ({ serve }) => serve(http, requestId),
      ({ refuse }) => refuse({ ...http, refused: new Overloaded() }, requestId),
    )

async function openHome({ config, baseUrl, report, data, clock, audit, seal, blobs }: Kept): Promise<Home> {
  await using opened = new AsyncDisposableStack()
  const reading = readingOf(config, baseUrl)
  const now = () => clock.now()
  const stores = await openStores({ path: data.path, now, reading, budget: config.searchBudget, report: (error) => report(error, '') })
  opened.defer(stores.close)
  clock.compareWith(stores.store.newest())
  const { definitions } = stores
  const readings = new Readings(reading, 'searches')
  const ports: Ports = {
    ...stores,
    clock,
    progress: progressOf(stores),
    reindex: reindexOf(stores),
    resources: seenThrough(stores.store, () => stores.expressions),
    heads: (keys) => stores.store.heads(keys),
    writer: stampedWriter(writerOf(stores, config, baseUrl), clock),
    index: stores.searcher,
    latest: () => stores.searcher,
    seal,
    blobs,
    choices: config,
  }
  const origins = config.allowedOrigins.includes('*') ? '*' : config.allowedOrigins
  const tokens = tokensOf(stores, clock, seal, blobs)
  const serve = serveOf(
    ports,
    { audit, clock, authenticator: openToAll, report, maxBody: config.maxBodyBytes, origins, loopbackOnly: true, tokens },
    { baseUrl, reading: (tenant) => readings.of(definitions.now(), tenant) },
  )
  const all = opened.move()
  return { serve: (http, requestId) => definitions.whenKnown(() => serve(http, requestId)), refuse: serve, close: () => all.disposeAsync() }
}

const tokensOf = ({ store, searcher }: Stores, clock: Clock, seal: Seal, blobs: BlobStore): TokenParts => ({
  seal,
  clock,
  blobs,
  index: searcher,
  tokensOf: ([first]) => [String(store.lastPosition(first?.tenant))],
})

const reindexOf = ({ searcher }: Stores): Reindex => ({ start: async (tenant, types) => searcher.rebuild(tenant, types) })

/** Versions: what was just defined is part of the answer, but nobody waits long to hear how far the index has come. */
const SOON_CAUGHT_UP = 2_000

/** Versions that are looked at to tell which are a tenant's. */
const COUNTED = 10_000

const progressOf = ({ store, searcher, definitions }: Stores): IndexProgress => ({
  async status(tenant) {
    const lag = store.countAfter(searcher.position, tenant, COUNTED)
    if (searcher.lag() < SOON_CAUGHT_UP) await searcher.caughtUp([String(store.lastPosition(tenant))])
    return { lag, ...statusOf(definitions.now(), tenant) }
  },
})

function writerOf({ store, searcher, expressions }: Stores, { referentialIntegrity }: Config, baseUrl: string): RequestWriter {
  const writer = pacedWriter(store, () => searcher.lag())
  return referentialIntegrity
    ? integrityWriter({ writer, resources: seenThrough(store, () => expressions), index: searcher, baseUrl })
    : writer
}

function serveOf(ports: Ports, parts: BodyStepParts, site: Site): Serve {
  const steps = { ...writingSteps(parts), ...searchingSteps(parts) }
  const entries = entryInteractions(ports)
  const interactions = {
    ...entries,
    bundle: bundle(ports, performer(entries, steps, parts.report)),
    reindex: startReindex(ports),
    'reindex-status': reindexStatus(ports),
  }
  return server({ interactions, steps, site })
}

/** Requests under way are answered; a connection is closed as soon as it is idle, however long its client would keep it. */
const closeServer = (http: Server): Promise<void> =>
  new Promise((resolve) => {
    if (!http.listening) return resolve()
    const closing = setInterval(() => http.closeIdleConnections(), 20)
    http.close(() => {
      clearInterval(closing)
      resolve()
    })
  })
