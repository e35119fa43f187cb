/** The embedded home: the whole server in one process, on SQLite and files. */
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import type { Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { FilesystemAuditLog } from '../adapters/filesystem/audit-log.ts'
import { FilesystemBlobStore } from '../adapters/filesystem/blob-store.ts'
import { listenForCommands } from '../adapters/filesystem/command-socket.ts'
import { type DataFolder, openDataFolder } from '../adapters/filesystem/data-folder.ts'
import { ForkedExpressionRunner } from '../adapters/in-process/expression-runner.ts'
import { AesSeal } from '../adapters/in-process/seal.ts'
import { type TimeSources, WatchedClock } from '../adapters/in-process/watched-clock.ts'
import { SqliteResourceStore } from '../adapters/sqlite-store/resource-store.ts'
import { nodeServer } from '../http/node-server.ts'
import { performer } from '../http/perform.ts'
import type { BodyStepParts } from '../http/pipelines/reading.ts'
import { searchingSteps } from '../http/pipelines/searching.ts'
import { writingSteps } from '../http/pipelines/writing.ts'
import { type Serve, type Site, server } from '../http/server.ts'
import type { TokenParts } from '../http/steps/index-token.ts'
import { TENANT } from '../http/steps/resolve-tenant.ts'
import type { Definitions } from '../indexing/custom-definitions.ts'
import { statusOf } from '../indexing/index-state.ts'
import { readingNow } from '../indexing/reading-now.ts'
import { bundle } from '../interactions/bundle.ts'
import { entryInteractions } from '../interactions/entry-interactions.ts'
import type { Ports } from '../interactions/interaction.ts'
import { integrityWriter } from '../interactions/referential-integrity.ts'
import { reindexStatus, startReindex } from '../interactions/reindex.ts'
import { forgetQueries } from '../interactions/stored-query.ts'
import type { BlobStore } from '../ports/blob-store.ts'
import type { Clock } from '../ports/clock.ts'
import { Overloaded } from '../ports/overloaded.ts'
import type { IndexProgress, Reindex } from '../ports/reindex.ts'
import type { ResourceWriter } from '../ports/resource-store.ts'
import type { Seal } from '../ports/seal.ts'
import type { Reading } from '../search/reading.ts'
import { clockCommands } from './accept-clock.ts'
import { commitRestored, storeCommands, takeRestored } from './backup.ts'
import type { Config } from './config.ts'
import { EXPRESSION_PROGRAM } from './expression-program.ts'
import { Gate } from './gate.ts'
import { pacedWriter } from './paced-writer.ts'
import { readingOf } from './reading-of.ts'
import { DefinitionsInUse } from './searcher/definitions-in-use.ts'
import { Searcher } from './searcher/searcher.ts'
import { stampedWriter } from './stamped-writer.ts'

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

export async function openEmbedded(options: EmbeddedOptions): Promise<Embedded> {
  const folder = options.dataFolder ?? mkdtempSync(join(tmpdir(), 'fhir-'))
  const data = await openDataFolder(folder)
  try {
    return await openIn(data, folder, options)
  } catch (error) {
    data.unlock()
    throw error
  }
}

async function openIn(data: DataFolder, folder: string, options: EmbeddedOptions): Promise<Embedded> {
  const { config, dataFolder, baseUrl, report, times, warn = () => undefined } = options
  for (const line of data.warnings) warn(line)
  const seal = new AesSeal(await data.key())
  const clock = new WatchedClock(warn, times)
  const audit = new FilesystemAuditLog({
    folder: data.path('audit'),
    retentionDays: config.auditRetentionDays,
    maySweep: () => clock.maySweep(),
    durability: config.auditDurability,
    onError: (error) => report(error, ''),
  })
  const origins = config.allowedOrigins.includes('*') ? '*' : config.allowedOrigins
  const reading = readingOf(config, baseUrl)
  const blobs = new FilesystemBlobStore(data.path('blobs'))
  const open = async (): Promise<Home> => {
    await takeRestored(folder)
    const stores = await openStores(data, clock, config, reading, report)
    clock.compareWith(stores.store.newest())
    const { definitions } = stores
    const ports: Ports = {
      ...stores,
      clock,
      progress: progressOf(stores),
      reindex: reindexOf(stores),
      resources: stores.store,
      writer: stampedWriter(writerOf(stores, config, baseUrl), clock),
      index: stores.searcher,
      seal,
      blobs,
      choices: config,
    }
    const serve = serveOf(
      ports,
      {
        audit,
        clock,
        report,
        maxBody: config.maxBodyBytes,
        origins,
        loopbackOnly: true,
        tokens: tokensOf(stores, clock, seal, blobs),
      },
      { baseUrl, reading: () => readingNow(reading, definitions.now(), TENANT) },
    )
    return { ...stores, serve: (http, requestId) => definitions.whenKnown(() => serve(http, requestId)) }
  }
  const forget = () => void (clock.maySweep() && forgetQueries(blobs, clock.now()).catch((error) => report(error, '')))
  const gate = new Gate(await open())
  forget()
  const forgetting = setInterval(forget, HOUR).unref()
  const serve: Serve = (http, requestId) =>
    gate.pass(
      (home) => home.serve(http, requestId),
      (home) => home.serve({ ...http, refused: new Overloaded() }, requestId),
    )
  const server = nodeServer(serve, {
    basePath: new URL(baseUrl).pathname.replace(/\/$/, ''),
    maxBody: config.maxBodyBytes,
    maxRequests: config.maxRequests,
    newRequestId: () => randomUUID(),
    report,
  })
  // Requests meanwhile are answered 503. Where it fails, the server goes on with what it had.
  const restore = async (file: string): Promise<void> => {
    let failed: unknown
    await gate.exchange(async (home) => {
      await closeStores(home)
      await commitRestored(folder, file).catch((error) => (failed = error))
      return open()
    })
    if (failed !== undefined) throw failed
  }
  const endListening = await listenForCommands(folder, { ...storeCommands(restore), ...clockCommands(clock) }).catch((error) => {
    warn(`Backup and restore cannot reach this server (${error.code}): they need it stopped`)
    return async () => undefined
  })
  return {
    server,
    async close() {
      clearInterval(forgetting)
      await endListening()
      await closeServer(server)
      await closeStores(gate.inside)
      await audit.close()
      data.unlock()
      if (dataFolder === undefined) rmSync(folder, { recursive: true, force: true })
    },
  }
}

type Stores = {
  readonly store: SqliteResourceStore
  readonly searcher: Searcher
  readonly definitions: DefinitionsInUse
  readonly expressions: ForkedExpressionRunner
}
type Home = Stores & { readonly serve: Serve }

async function openStores(
  data: DataFolder,
  clock: Clock,
  config: Config,
  reading: Reading,
  report: EmbeddedOptions['report'],
): Promise<Stores> {
  const definitions = new DefinitionsInUse()
  const store = await SqliteResourceStore.open({ file: data.path('store.db'), now: () => clock.now(), onCommit: () => searcher.follow() })
  const searcher = new Searcher({
    thread: new URL('./searcher/searcher-thread.ts', import.meta.url),
    store: data.path('store.db'),
    index: data.path('index.db'),
    acknowledged: () => store.lastPosition(),
    reading,
    budget: config.searchBudget,
    report: (error) => {
      definitions.silent()
      report(error, '')
    },
    onDefinitions: (changed) => definitions.take(changed as Partial<Definitions>),
  })
  // Where nobody ever defined a parameter there is nothing to wait for.
  const { versions } = await store.history({ tenant: TENANT, type: 'SearchParameter' }, {}, undefined, 1)
  if (versions.length === 0) definitions.take({})
  return { store, searcher, definitions, expressions: new ForkedExpressionRunner({ program: EXPRESSION_PROGRAM }) }
}

const tokensOf = ({ store, searcher }: Stores, clock: Clock, seal: Seal, blobs: BlobStore): TokenParts => ({
  seal,
  clock,
  blobs,
  index: searcher,
  tokensOf: () => [String(store.lastPosition())],
})

const reindexOf = ({ searcher }: Stores): Reindex => ({ start: async (tenant, types) => searcher.rebuild(tenant, types) })

/** Versions: what was just defined is part of the answer, but nobody waits long to hear how far the index has come. */
const SOON_CAUGHT_UP = 2_000

const progressOf = ({ searcher, definitions }: Stores): IndexProgress => ({
  async status(tenant) {
    const lag = searcher.lag()
    if (lag < SOON_CAUGHT_UP) await searcher.caughtUp()
    return { lag, ...statusOf(definitions.now(), tenant) }
  },
})

function writerOf({ store, searcher }: Stores, { referentialIntegrity }: Config, baseUrl: string): ResourceWriter {
  const writer = pacedWriter(store, () => searcher.lag())
  return referentialIntegrity ? integrityWriter({ writer, resources: store, index: searcher, baseUrl }) : writer
}

async function closeStores({ searcher, store, expressions }: Stores): Promise<void> {
  expressions.close()
  await searcher.close()
  await store.close()
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
