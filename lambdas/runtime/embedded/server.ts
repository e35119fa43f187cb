/** Embedded deployment: the whole server in one process, on SQLite and files. */
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import type { Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { FilesystemBlobStore } from '../../adapters/filesystem/blob-store.ts'
import { type CommandHandler, listenForCommands } from '../../adapters/filesystem/command-socket.ts'
import { type DataFolder, openDataFolder } from '../../adapters/filesystem/data-folder.ts'
import { FilesystemTransferLog } from '../../adapters/filesystem/transfers.ts'
import { fetchDocument } from '../../adapters/https/fetch-document.ts'
import { addressFilterOf } from '../../adapters/https/private-hosts.ts'
import { CheckedClock, type TimeSources } from '../../adapters/in-process/checked-clock.ts'
import { AesSeal } from '../../adapters/in-process/seal.ts'
import { HEALTH_PATH } from '../../http/base-path.ts'
import { nodeServer } from '../../http/node-server.ts'
import { publicAdmission } from '../../http/public-read/admission.ts'
import { PublicRates } from '../../http/public-read/rates.ts'
import { normalizePath } from '../../http/route-table.ts'
import type { Serve } from '../../http/server.ts'
import { admission, type PublicRead } from '../../http/steps/authenticate.ts'
import { sweepStoredQueries } from '../../interactions/searching/stored-query.ts'
import { QuotaBlobStore } from '../../interactions/searching/stored-query-quota.ts'
import type { RequestLog } from '../../ports/execution/request-log.ts'
import { MachineFault } from '../../ports/faults.ts'
import type { FetchDocument } from '../../ports/security/fetch-document.ts'
import type { Config } from '../config.ts'
import { commitRestore, installRestoredStore, storeCommands } from '../control/backup-command.ts'
import { clockCommands } from '../control/clock-command.ts'
import { launchCommands } from '../control/launch-command.ts'
import { AUDIT_FOLDER, checkStore, lostFileWarnings, makeStore, TRANSFERS_FOLDER } from '../control/lost-files.ts'
import { planCommands } from '../control/member-plans.ts'
import { packageEffectCommands } from '../control/package-effects.ts'
import { parameterStateCommands } from '../control/parameter-states.ts'
import { settingsCommands } from '../control/server-settings.ts'
import { locationCommands } from '../control/server-socket.ts'
import { tokenCommands } from '../control/token-command.ts'
import { healthEndpoint } from '../health.ts'
import { checkPublicRead } from '../public-read.ts'
import { checkSharedTenant } from '../shared-tenant.ts'
import { type Authorization, openAuthorization } from './authorization.ts'
import { openServerCore, type ServerCore, type ServerCoreParts } from './composition.ts'
import { Metrics, PROCESS_GAUGES, serveMetrics } from './metrics.ts'
import { RequestGate } from './request-gate.ts'
import { storeRestorer } from './restore.ts'

export type EmbeddedServerOptions = {
  readonly config: Config
  /** Path of the data folder. Absent: a temporary folder, which is deleted when the server closes. */
  readonly dataFolder?: string
  /** Whether the operator accepts an empty store in place of a lost one. Absent or false: a lost store is an error. */
  readonly isNewStore?: boolean
  /** Base URL of the server, without a trailing slash. */
  readonly baseUrl: string
  readonly report: (error: unknown, requestId: string) => void
  /** Clocks of the server. Absent: those of the machine. */
  readonly times?: TimeSources
  /**
   * Fetches keys of external issuers and clients. Absent: fetches from public addresses, and from those that the setting privateHosts
   * allows.
   */
  readonly fetchDocument?: FetchDocument
  /** Receives one-line warnings for the operator. */
  readonly warn?: (line: string) => void
  /** Receives the record of each request, if the setting requestLog is on. */
  readonly logRequest?: RequestLog
}

export type EmbeddedServer = {
  /** HTTP server that is not yet listening. */
  readonly server: Server
  /** Path of the data folder. */
  readonly folder: string
  /** Issues an access token to an operator: see Authorization. */
  readonly issue: Authorization['issue']
  /** Whether a user is registered who can log in. */
  readonly hasUsers: Authorization['hasUsers']
  /** Finishes running requests, then closes the stores. */
  readonly close: () => Promise<void>
}

/** Maximum bytes of queries stored for paging links, per tenant and in total. Above it the oldest queries are removed. */
const QUERY_BOUNDS = { ofTenant: 100_000_000, inAll: 500_000_000 }
const HOUR = 60 * 60 * 1000

/** Opens the server. If that fails, closes everything that it opened. Parts are closed in reverse order, even if one cannot be closed. */
export async function openEmbeddedServer(options: EmbeddedServerOptions): Promise<EmbeddedServer> {
  const { config, baseUrl, report, times, warn = () => undefined } = options
  checkPublicRead(config)
  checkSharedTenant(config)
  await using opened = new AsyncDisposableStack()
  const folder = options.dataFolder ?? passingFolder(opened)
  const data = await openDataFolder(folder)
  opened.defer(data.unlock)
  await installRestoredStore(folder)
  const { isNewStore = false } = options
  if (!isNewStore) checkStore(folder)
  for (const line of [...data.warnings, ...lostFileWarnings(folder)]) warn(line)
  await makeStore(folder, isNewStore)
  const clock = new CheckedClock(warn, times)
  const audit = auditOf(data, clock, options)
  opened.defer(() => audit.close())
  const seal = new AesSeal(await data.key())
  const authorization = await openAuthorization({
    ...{
      config,
      baseUrl,
      path: data.path,
      clock,
      audit,
      seal,
      fetchDocument: options.fetchDocument ?? fetchDocument({ mayReach: addressFilterOf(config.privateHosts) }),
    },
    isDecidable: (...asked) => gate.pass(({ isDecidable }) => isDecidable(...asked), restored),
    patients: {
      find: (...asked) => gate.pass(({ patients }) => patients.find(...asked), restored),
      get: (...asked) => gate.pass(({ patients }) => patients.get(...asked), restored),
      recordsOf: (...asked) => gate.pass(({ patients }) => patients.recordsOf(...asked), restored),
      isTenant: (...asked) => gate.pass(({ patients }) => patients.isTenant(...asked), restored),
    },
    patientsOf: (...asked) => gate.pass(({ patientsOf }) => patientsOf(...asked), restored),
    partnerMembers: {
      find: (...asked) => gate.pass(({ partnerMembers }) => partnerMembers.find(...asked), restored),
      limitsOf: (...asked) => gate.pass(({ partnerMembers }) => partnerMembers.limitsOf(...asked), restored),
    },
    mayReadPatient: (...asked) => gate.pass(({ mayReadPatient }) => mayReadPatient(...asked), restored),
    report: (error) => report(error, ''),
    warn,
  })
  opened.defer(() => authorization.close())
  const requestLog = await openRequestLog(opened, options, () =>
    // The metrics are served before the gate exists.
    Promise.resolve()
      .then(() => gate.pass(({ checkHealth }) => checkHealth(), restored))
      .then(
        ({ lag }) => lag,
        () => Number.NaN,
      ),
  )
  const publicRead = publicReadOf(config, clock)
  const parts = {
    ...options,
    publicRead,
    ...(requestLog === undefined ? {} : { requestLog }),
    authorization,
    data,
    clock,
    audit,
    seal,
    blobs: new QuotaBlobStore(new FilesystemBlobStore(data.path('blobs')), QUERY_BOUNDS),
    health: healthEndpoint({
      check: () => gate.pass(({ checkHealth }) => checkHealth(), restored),
      isOpen: () => gate.isOpen && server.listening,
      now: () => performance.now(),
      report,
    }),
  }
  const open = async (): Promise<ServerCore> => {
    await installRestoredStore(folder)
    checkStore(folder)
    return openServerCore(parts)
  }
  const gate = new RequestGate(await open())
  opened.defer(() => gate.close((home) => home.close()))
  const ending = new AbortController()
  opened.defer(() => ending.abort())
  const server = nodeServer(serveThrough(gate), {
    basePath: new URL(baseUrl).pathname.replace(/\/$/, ''),
    maxBody: config.maxBodyBytes,
    maxRequests: config.maxRequests,
    newRequestId: () => randomUUID(),
    addressHeader: config.addressHeader,
    admit: admission({ authenticator: authorization.authenticator, publicRead }),
    report,
  })
  opened.defer(() => closeServer(server))
  const restore = storeRestorer({ gate, commit: (file) => commitRestore(folder, file), open, warn, attempts: { signal: ending.signal } })
  const commands = {
    ...{
      ...storeCommands(gate, restore),
      ...clockCommands(clock),
      ...tokenCommands(authorization),
      ...settingsCommands(config),
    },
    ...planCommands((...asked) => gate.pass(({ answers }) => answers.plansOf(...asked), restored)),
    ...packageEffectCommands((asked) => gate.pass(({ answers }) => answers.packageEffects(asked), restored)),
    ...parameterStateCommands(() => gate.pass(({ answers }) => answers.parameterStates(), restored)),
  }
  opened.defer(await listen(folder, { ...commands, ...launchCommands(authorization), ...locationCommands(folder, baseUrl) }, warn))
  forgetEachHour(opened, parts)
  const all = opened.move()
  return { server, folder, issue: authorization.issue, hasUsers: authorization.hasUsers, close: () => all.disposeAsync() }
}

/**
 * Returns a log that prints and counts request records, as the settings require, or undefined if both are off. `lag`: returns the index lag in
 * seconds, or NaN if unknown.
 */
async function openRequestLog(
  opened: AsyncDisposableStack,
  { config, logRequest }: EmbeddedServerOptions,
  lag: () => Promise<number>,
): Promise<RequestLog | undefined> {
  const logs: RequestLog[] = config.requestLog && logRequest !== undefined ? [logRequest] : []
  if (config.metricsPort !== 0) {
    const metrics = new Metrics({
      fhir_index_lag_seconds: { help: 'Estimated index lag in seconds.', read: lag },
      ...PROCESS_GAUGES,
    })
    const server = await serveMetrics(metrics, config.metricsPort)
    opened.defer(() => closeServer(server))
    logs.push((record) => metrics.observe(record))
  }
  if (logs.length === 0) return undefined
  return (record) => {
    for (const log of logs) log(record)
  }
}

/** Returns the access of requests without a token, with its rates, or undefined if nothing is public. */
function publicReadOf(config: Config, clock: CheckedClock): PublicRead | undefined {
  if (config.publicRead === '') return undefined
  const { publicReadRate: perAddress, publicReadBurst: burst, publicReadTotal: total } = config
  const rates = new PublicRates({ perAddress, burst, total }, () => clock.now())
  return { tokenOf: publicAdmission(config), prepare: ({ address }) => rates.take(address) }
}

const restored = () => Promise.reject(new MachineFault('overloaded', 'the stores are being restored'))

/** Creates a temporary folder, which is deleted when the server closes. */
function passingFolder(opened: AsyncDisposableStack): string {
  const folder = mkdtempSync(join(tmpdir(), 'fhir-'))
  opened.defer(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

const auditOf = (data: DataFolder, clock: CheckedClock, { config, report }: EmbeddedServerOptions): FilesystemTransferLog =>
  new FilesystemTransferLog({
    folder: data.path(AUDIT_FOLDER),
    transfers: data.path(TRANSFERS_FOLDER),
    retentionDays: config.auditRetentionDays,
    maySweep: () => clock.maySweep(),
    durability: config.auditDurability,
    onError: (error) => report(error, ''),
  })

/** Listens for commands of operators. Only warns on failure, because the server can serve requests without them. */
async function listen(
  folder: string,
  commands: Readonly<Record<string, CommandHandler>>,
  warn: (line: string) => void,
): Promise<() => Promise<void>> {
  try {
    return await listenForCommands(folder, commands)
  } catch (error) {
    warn(`Backup and restore cannot reach this server (${(error as Error).message}): they need it stopped`)
    return async () => undefined
  }
}

function forgetEachHour(opened: AsyncDisposableStack, { clock, blobs, report }: ServerCoreParts): void {
  const forget = () => void (clock.maySweep() && sweepStoredQueries(blobs, clock.now()).catch((error) => report(error, '')))
  forget()
  const forgetting = setInterval(forget, HOUR).unref()
  opened.defer(() => clearInterval(forgetting))
}

const serveThrough =
  (gate: RequestGate<ServerCore>): Serve =>
  (http, requestId) => {
    const answerHealth = ({ serveWithoutStores }: ServerCore) => serveWithoutStores(http, requestId)
    if (normalizePath(http.path) === HEALTH_PATH) return gate.pass(answerHealth, answerHealth)
    return gate.pass(
      ({ serve }) => serve(http, requestId),
      ({ serveWithoutStores }) => serveWithoutStores({ ...http, refused: new MachineFault('overloaded') }, requestId),
    )
  }

/**
 * Stops the HTTP server after running requests are answered. Closes connections as soon as they are idle, even if clients would keep them
 * open.
 */
const closeServer = (http: Server): Promise<void> =>
  new Promise((resolve) => {
    if (!http.listening) return resolve()
    const closing = setInterval(() => http.closeIdleConnections(), 20)
    http.close(() => {
      clearInterval(closing)
      resolve()
    })
  })
