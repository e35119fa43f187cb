import { registerBaseUrl } from '../../adapters/filesystem/base-urls.ts'
import type { DataFolder } from '../../adapters/filesystem/data-folder.ts'
import { FilesystemPackages } from '../../adapters/filesystem/packages.ts'
import type { CheckedClock } from '../../adapters/in-process/checked-clock.ts'
import type { AuthPorts, Endpoint } from '../../auth/endpoint.ts'
import type { BaseUrls } from '../../fhir/references.ts'
import type { Resource } from '../../fhir/resource.ts'
import { checkForwarded } from '../../http/check-forwarded.ts'
import { entryRunner, NO_TIME_LIMIT } from '../../http/entry-runner.ts'
import type { Site } from '../../http/exchange.ts'
import { authorizingSteps } from '../../http/pipelines/authorizing.ts'
import { downloadingSteps } from '../../http/pipelines/downloading.ts'
import { exportingSteps } from '../../http/pipelines/exporting.ts'
import { operatingSteps } from '../../http/pipelines/operating.ts'
import { searchingSteps } from '../../http/pipelines/searching.ts'
import { type WritingStepParts, writingSteps } from '../../http/pipelines/writing.ts'
import { queryRecorder } from '../../http/query-recorder.ts'
import { type Serve, type ServerParts, server } from '../../http/server.ts'
import type { PublicRead } from '../../http/steps/authenticate.ts'
import { LOOPBACK_HOST } from '../../http/steps/check-host.ts'
import type { TokenParts } from '../../http/steps/index-token.ts'
import { TenantSearchContexts } from '../../indexing/tenant-search-contexts.ts'
import { fullyEvaluatedIndex } from '../../interactions/consistency/fully-evaluated-index.ts'
import { deleteEndedMatches } from '../../interactions/operations/match-deletion.ts'
import { type MatchStore, matchStore } from '../../interactions/operations/match-store.ts'
import { readTenant } from '../../interactions/resources/union-read.ts'
import { IndexedCanonicals } from '../../interactions/validation/indexed-canonicals.ts'
import { definitionIssuesOf, tenantDefinitions } from '../../interactions/validation/profile-findings.ts'
import { mergeProfiles, tenantProfiles } from '../../interactions/validation/tenant-profiles.ts'
import { writeValidator } from '../../interactions/validation/write-validation.ts'
import { visibleStoreOf } from '../../interactions/visible-store.ts'
import { basisProfilesOf } from '../../packages/basis-profiles.ts'
import { addedGuidesOf, supportedProfiles } from '../../packages/supported-profiles.ts'
import type { BlobStore } from '../../ports/blobs/blob-store.ts'
import type { AddedPackages } from '../../ports/definitions/package-store.ts'
import type { Clock } from '../../ports/execution/clock.ts'
import type { RequestLog } from '../../ports/execution/request-log.ts'
import type { IndexHealth } from '../../ports/search/index-status.ts'
import type { AuditLog } from '../../ports/security/audit-log.ts'
import type { QueryDigest } from '../../ports/security/query-digest.ts'
import type { Seal } from '../../ports/security/seal.ts'
import { decidabilityCheck } from '../authorization/condition-support.ts'
import { partnerMembers } from '../authorization/partner-members.ts'
import { patientFinder } from '../authorization/patient-finder.ts'
import { patientVisibility } from '../authorization/patient-visibility.ts'
import { personReader } from '../authorization/person-patients.ts'
import type { Config } from '../config.ts'
import { PACKAGES_FOLDER } from '../control/package-folder.ts'
import { definitionsOf } from '../definitions.ts'
import { explorerPartsOf } from '../explorer-parts.ts'
import { searchContextOf } from '../search-context.ts'
import type { Authorization } from './authorization.ts'
import { type CommandAnswers, commandAnswersOf } from './command-answers.ts'
import { explorerEndpoint } from './explorer.ts'
import { type Exports, openExports } from './exports.ts'
import { checkStores } from './health.ts'
import { warnOfHiddenTenants } from './hidden-tenants.ts'
import { progressOf, reindexOf } from './index-progress.ts'
import { type EmbeddedPorts, interactionsOf } from './interactions.ts'
import { packageParameters, type WithPackages } from './package-parameters.ts'
import { openStores, type Stores } from './stores.ts'
import { dryRunWriter, layeredWriter } from './writer-layers.ts'

/** Parts of the server that stay open while a restore exchanges its stores. */
export type ServerCoreParts = {
  readonly config: Config
  /** Base URL of the server, without a trailing slash. */
  readonly baseUrl: string
  readonly report: (error: unknown, requestId: string) => void
  /** Receives one-line warnings for the operator. */
  readonly warn?: (line: string) => void
  readonly authorization: Authorization
  readonly data: DataFolder
  readonly clock: CheckedClock
  readonly audit: AuditLog
  readonly seal: Seal & QueryDigest
  readonly blobs: BlobStore
  /** Log of all requests. Absent: there is none. */
  readonly requestLog?: RequestLog
  /** Access of requests without a token. Absent: such requests have no access. */
  readonly publicRead?: PublicRead | undefined
  /** Answers requests for the health of the server. Absent: they are answered 404. */
  readonly health?: Endpoint
}

/**
 * Server on open stores. `serveWithoutStores`: answers requests that are marked as refused, and those for the health. It also works after
 * `close`. `checkHealth`: reads the store, and returns the health of the index.
 */
export type ServerCore = {
  readonly serve: Serve
  readonly serveWithoutStores: Serve
  readonly checkHealth: () => Promise<IndexHealth>
  readonly patients: AuthPorts['patients']
  readonly patientsOf: AuthPorts['patientsOf']
  readonly isDecidable: AuthPorts['isDecidable']
  readonly mayReadPatient: AuthPorts['mayReadPatient']
  readonly partnerMembers: AuthPorts['partnerMembers']
  readonly answers: CommandAnswers
  readonly close: () => Promise<void>
}

/** Opens the stores and composes the server on them. If that fails, closes everything that it opened. */
export async function openServerCore(parts: ServerCoreParts): Promise<ServerCore> {
  const { config, baseUrl, report, data, clock } = parts
  await using opened = new AsyncDisposableStack()
  const bases = { baseUrl, otherBases: await registerBaseUrl(data.path('base-urls'), baseUrl) }
  const reading = searchContextOf(config, bases)
  const now = () => clock.now()
  const stores = await openStores({
    path: data.path,
    now,
    reading,
    budget: config.searchBudget,
    report,
    warn: (line) => parts.warn?.(line),
  })
  opened.defer(stores.close)
  clock.compareWith(stores.store.newest())
  if (!config.tenancy) await warnOfHiddenTenants(stores.store, parts.warn)
  // Matches start here, because they write by the same ports as requests.
  const matches = Promise.withResolvers<MatchStore>()
  const exports = await openExports({
    ...parts,
    bases,
    path: data.path,
    stores,
    key: await data.key(),
    storeMatch: async (...found) => (await matches.promise)(...found),
    isPartner: async (client) => (await parts.authorization.clients.get(client))?.partner !== undefined,
    report: (error) => report(error, ''),
  })
  opened.defer(exports.close)
  const home = composeServerCore(stores, { ...parts, bases, exports, packages: new FilesystemPackages(data.path(PACKAGES_FOLDER)) })
  matches.resolve(home.storeMatch)
  deleteMatchesEachHour(opened, parts, home.deleteMatches)
  const all = opened.move()
  return { ...home, close: () => all.disposeAsync() }
}

/** Deletes ended matches at once and every hour. A running deletion ends before the stores close. */
function deleteMatchesEachHour(opened: AsyncDisposableStack, { clock, report }: ServerCoreParts, deleteMatches: () => Promise<void>): void {
  let running = Promise.resolve()
  const tend = (): void => {
    running = running.then(() => (clock.maySweep() ? deleteMatches() : undefined)).catch((error) => report(error, ''))
  }
  tend()
  const timer = setInterval(tend, HOUR).unref()
  opened.defer(() => running)
  opened.defer(() => clearInterval(timer))
}

const HOUR = 60 * 60_000

/**
 * Parts that `openServerCore` creates with the stores, so a restore creates them again. `packages`: packages that operators added. Absent:
 * there are none.
 */
type OnStores = { readonly bases: BaseUrls; readonly exports: Exports; readonly packages?: AddedPackages }

/** Composes the server on open stores, without opening or closing anything. */
export function composeServerCore(
  stores: Stores,
  parts: Omit<ServerCoreParts, 'data'> & OnStores,
): Omit<ServerCore, 'close'> & { readonly storeMatch: MatchStore; readonly deleteMatches: () => Promise<void> } {
  const { config, authorization, baseUrl, bases, report, clock, audit, seal, blobs, exports } = parts
  const { definitions } = stores
  const { sharedTenant } = config
  const reading = searchContextOf(config, bases)
  const readings = new TenantSearchContexts(reading, 'searches')
  const progress = progressOf(stores)
  const warn = (text: string): void => parts.warn?.(text)
  const packages = definitionsOf(parts.packages, warn)
  const canonicals = new IndexedCanonicals({
    index: stores.searcher,
    resources: stores.store,
    acknowledged: () => stores.store.lastPosition(),
  })
  const store = stores.requests
  const basisProfiles = parts.packages === undefined ? async () => new Set<string>() : basisProfilesOf(parts.packages, warn)
  const resources = visibleStoreOf(store, () => stores.expressions, basisProfiles)
  const writerParts = { ...stores, config, clock, resources, canonicals, versions: stores.store }
  const own = tenantProfiles({ packages, canonicals, resources: stores.store, sharedTenant, warn })
  const profiles = {
    conformance: tenantDefinitions({ packages, canonicals, resources: stores.store, sharedTenant }),
    toldOfDefinition: (resource: Resource) => definitionIssuesOf(packages, resource),
  }
  const ports: EmbeddedPorts = {
    profiled: writeValidator(config.validateProfiles, () => ({ ...profiles, expressions: stores.expressions, clock })),
    ...stores,
    ...profiles,
    ...(parts.packages === undefined ? {} : { guidesOf: addedGuidesOf(parts.packages, warn) }),
    profilesOf: parts.packages === undefined ? own : mergeProfiles(supportedProfiles(parts.packages, warn), own),
    clock,
    progress,
    clients: authorization.clients,
    reindex: reindexOf(stores),
    resources,
    basisProfiles,
    heads: (...asked) => stores.store.heads(...asked),
    writer: layeredWriter(store, writerParts),
    checker: dryRunWriter(writerParts),
    index: stores.searcher,
    latest: () => fullyEvaluatedIndex(stores.searcher, progress),
    seal,
    blobs,
    choices: config,
  }
  const origins = config.allowedOrigins.includes('*') ? '*' : config.allowedOrigins
  const tokens = { ...tokensOf(stores, clock, seal, blobs), consistency: config.consistency }
  const { authenticator, endpoints } = authorization
  const isOpen = config.access === 'open'
  const loopbackOnly = isOpen || LOOPBACK_HOST.test(new URL(baseUrl).hostname)
  const withPackages: WithPackages =
    parts.packages === undefined
      ? (work) => work()
      : packageParameters({
          ...{ packages: parts.packages, searcher: stores.searcher, now: () => clock.now(), warn },
          report: (error) => report(error, ''),
        })
  const readingFor = (tenant: string) => readings.of(definitions.now(), tenant)
  const readingOf = async (tenant: string) => definitions.whenKnown(async () => readingFor(tenant))
  const matchPorts = { ...ports, rows: exports.exports.rows }
  const patientsOf = personReader({ resources: store, clock, reading: readingFor })
  const serve = serveOf(
    ports,
    exports,
    {
      ...endpoints,
      explorer: explorerEndpoint(explorerPartsOf(config, baseUrl, 'embedded')),
      ...(parts.health === undefined ? {} : { health: parts.health }),
    },
    {
      audit,
      recorder: queryRecorder(seal),
      clock,
      authenticator,
      publicRead: parts.publicRead,
      readTenant: readTenant({ resources, stored: stores.store }),
      report,
      maxBody: config.maxBodyBytes,
      writes: config.writes,
      origins,
      loopbackOnly,
      hasExplorer: true,
      tokens,
      ...(isOpen ? { checkForwarded } : {}),
    },
    { baseUrl, reading: readingFor, sharedTenant },
    parts.requestLog,
  )
  return {
    serve(http, requestId) {
      exports.giveWay(http.path)
      return withPackages(() => definitions.whenKnown(() => serve(http, requestId)))
    },
    serveWithoutStores: serve,
    checkHealth: () => checkStores(stores),
    storeMatch: matchStore(matchPorts, readingOf),
    deleteMatches: () => deleteEndedMatches(matchPorts, readingOf, Number.POSITIVE_INFINITY),
    isDecidable: decidabilityCheck(readingFor),
    mayReadPatient: patientVisibility({ resources: store, reading: readingFor }),
    partnerMembers: partnerMembers({ ...ports, ...exports, index: ports.latest, reading: readingOf, config }),
    answers: commandAnswersOf({ ...ports, definitions, canonicals, store: stores.store, readingOf, withPackages }),
    patientsOf,
    patients: patientFinder({ ports, resources: store, patientsOf, knownTenants: stores.store, baseUrl, reading: readingFor }),
  }
}

const tokensOf = (
  { store, searcher }: Stores,
  clock: Clock,
  seal: TokenParts['seal'],
  blobs: BlobStore,
): Omit<TokenParts, 'consistency'> => ({
  seal,
  clock,
  blobs,
  index: searcher,
  tokensOf: ([first]) => [String(store.lastPosition(first?.tenant))],
})

function serveOf(
  ports: EmbeddedPorts,
  exports: Exports,
  endpoints: ServerParts['endpoints'],
  parts: WritingStepParts,
  site: Site,
  requestLog: RequestLog | undefined,
): Serve {
  const exporting = { ...exportingSteps(parts), ...downloadingSteps(parts) }
  const steps = { ...authorizingSteps(parts), ...writingSteps(parts), ...searchingSteps(parts), ...operatingSteps(parts), ...exporting }
  const interactions = interactionsOf({ ...ports, ...exports }, (entries) => entryRunner(entries, steps, parts.report, NO_TIME_LIMIT))
  return server({ interactions, endpoints: endpoints ?? {}, steps, site, requestLog })
}
