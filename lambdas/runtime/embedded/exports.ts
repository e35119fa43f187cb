/** Exports of the embedded deployment: rows of jobs, files, and the thread that runs the jobs. The thread starts with the first export. */
import { FilesystemBlobStore } from '../../adapters/filesystem/blob-store.ts'
import { UnusableFileError } from '../../adapters/sqlite-file/open-file.ts'
import { SqliteRows } from '../../adapters/sqlite-rows/rows.ts'
import { clearOtherAttemptStarts } from '../../export/job/failed-attempts.ts'
import { removeExpiredJobs, removeStoppedJobs, resumeJobs } from '../../export/job/job-sweep.ts'
import { type LinkSigner, linkSigner } from '../../export/job/signed-links.ts'
import type { ExportParts } from '../../export/step-types.ts'
import type { BaseUrls } from '../../fhir/references.ts'
import { TenantSearchContexts } from '../../indexing/tenant-search-contexts.ts'
import type { ExportPorts } from '../../interactions/export/ports.ts'
import { removeDisclosuresBefore } from '../../partners/disclosures/disclosures.ts'
import { type MatchLimits, matchLimits } from '../../partners/guesses/match-limits.ts'
import type { BlobStore } from '../../ports/blobs/blob-store.ts'
import type { Config } from '../config.ts'
import { DISCLOSURES_FOLDER } from '../control/lost-files.ts'
import { additionalResourcesOf } from '../export-rules-setting.ts'
import { transmittingPayerOf } from '../payer-identity.ts'
import { searchContextOf } from '../search-context.ts'
import { countRequest } from '../threads/export/cpu-share.ts'
import { ThreadedWorkflow } from '../threads/export/threaded-workflow.ts'
import type { Authorization } from './authorization.ts'
import type { Stores } from './stores.ts'

export type ExportsParts = {
  readonly config: Config
  readonly baseUrl: string
  /** Base URLs that the server treats as its own in references. */
  readonly bases: BaseUrls
  /** Returns the path of a file in the data folder. */
  readonly path: (name: string) => string
  readonly stores: Pick<Stores, 'store' | 'searcher' | 'definitions'>
  readonly authorization: Pick<Authorization, 'grants'>
  /** Secret key of the server. The keys of links to export files and of guesses are derived from it. */
  readonly key: Uint8Array
  readonly clock: { readonly now: () => number; readonly maySweep: () => boolean }
  /** Stores the result of a match. */
  readonly storeMatch: ExportParts['storeMatch']
  readonly isPartner: ExportParts['isPartner']
  readonly report: (error: unknown) => void
  /** Receives one-line warnings for the operator. */
  readonly warn?: (line: string) => void
}

export type Exports = {
  readonly exports: ExportPorts & { readonly blobs: BlobStore }
  readonly links: LinkSigner
  /** Records of disclosures to partners. */
  readonly disclosures: BlobStore
  readonly matchLimits: MatchLimits
  /** Counts a request by its path. Running exports then pause for requests. */
  readonly giveWay: (path: string) => void
  readonly close: () => Promise<void>
}

/** Names of the file of job rows and the folder of export files, in the data folder. */
const EXPORTS = { rows: 'exports.db', files: 'exports' } as const
const MINUTE = 60_000
const HOUR = 60 * MINUTE
const YEAR = 366 * 24 * HOUR

/** Opens the rows of jobs. Keeps an unusable file, because it may hold recoverable data. Only the operator may move it away. */
function openRows(file: string): SqliteRows {
  try {
    return new SqliteRows(file)
  } catch (error) {
    if (!(error instanceof UnusableFileError)) throw error
    throw new UnusableFileError(`${error.message}: move it away to go on without the exports there were, nothing else is in it`, {
      cause: error,
    })
  }
}

/**
 * Opens the exports and resumes unfinished jobs of an earlier process. Throws an UnusableFileError if the rows of jobs are unusable. If
 * opening fails, closes everything that it opened.
 */
export async function openExports({
  config,
  baseUrl,
  bases,
  path,
  stores,
  key,
  clock,
  authorization,
  storeMatch,
  isPartner,
  report,
  warn,
}: ExportsParts): Promise<Exports> {
  const { store, searcher, definitions } = stores
  const additionalResources = additionalResourcesOf(config.exportAdditionalResources)
  const groupTypes = config.groupExportTypes
  const { payer, sensitiveLabels, payerWindowYears, providerSince } = config
  const { grants } = authorization
  const limits = matchLimits({ grants, readKey: async () => key, now: () => clock.now(), alert: (line) => warn?.(line) })
  await using opened = new AsyncDisposableStack()
  const rows = openRows(path(EXPORTS.rows))
  opened.defer(() => rows.close())
  const blobs = new FilesystemBlobStore(path(EXPORTS.files))
  const readings = new TenantSearchContexts(searchContextOf(config, bases), 'searches')
  const requests = new Int32Array(new SharedArrayBuffer(4))
  const exporter = new ThreadedWorkflow({
    thread: new URL('../threads/export/export-thread.ts', import.meta.url),
    ...{ store: path('store.db'), rows: path(EXPORTS.rows), folder: path(EXPORTS.files), requests, groupTypes, additionalResources },
    partners: { payer, sensitiveLabels, payerWindowYears, providerSince },
    disclosing: { folder: path(DISCLOSURES_FOLDER), payer: transmittingPayerOf(config) },
    answers: {
      now: () => clock.now(),
      // Check the clock that sets timestamps, because it may have been set back. If the store settled an instant in the future, it would
      // reject all writes until then.
      settled: async (tenant, instant) => instant <= clock.now() && (await store.settled(tenant, instant)),
      find: (plan) => searcher.find(plan),
      distinct: (...asked) => searcher.distinct(...asked),
      ...{ storeMatch, isPartner },
      blockedAmong: limits.blockedAmong,
      count: limits.count,
      readingOf: (tenant) => definitions.whenKnown(async () => readings.of(definitions.now(), tenant)),
    },
    report,
    onDied: (jobs) => again(() => clearOtherAttemptStarts(rows, jobs).catch(report))(),
    onEnded: () => again(resume)(),
  })
  // Clear the marks of started attempts, so that a job that shutdown interrupts does not count as crashed.
  opened.defer(() => clearOtherAttemptStarts(rows, new Set()).catch(report))
  opened.defer(() => exporter.close())
  const disclosures = new FilesystemBlobStore(path(DISCLOSURES_FOLDER))
  const parts = { rows, blobs, now: () => clock.now() }
  const resume = async (): Promise<void> => {
    await resumeJobs(parts, exporter).catch(report)
    if (clock.maySweep()) await removeStoppedJobs(parts).catch(report)
  }
  const sweep = async (): Promise<void> => {
    if (!clock.maySweep()) return
    await removeExpiredJobs(parts, config.exportRetentionDays).catch(report)
    await removeDisclosuresBefore(disclosures, clock.now() - config.disclosureYears * YEAR).catch(report)
  }
  let tending = sweep().then(resume)
  const again = (tend: () => Promise<void>) => () => {
    tending = tending.then(tend)
  }
  const timers = [setInterval(again(resume), MINUTE).unref(), setInterval(again(sweep), HOUR).unref()]
  opened.defer(() => tending)
  opened.defer(() => timers.forEach(clearInterval))
  const all = opened.move()
  const links = linkSigner(key, baseUrl)
  return {
    exports: { rows, blobs, workflow: exporter, urls: links, settings: { groupTypes, additionalResources }, report },
    ...{ disclosures, links, matchLimits: limits },
    giveWay: (path) => countRequest(requests, path),
    close: () => all.disposeAsync(),
  }
}
