/** Search index on AWS: OpenSearch. */
import { openSearchClient } from '../../adapters/opensearch/client.ts'
import { OpenSearchIndex, type OpenSearchOptions } from '../../adapters/opensearch/search-index.ts'
import { tokenOf } from '../../adapters/opensearch/visibility.ts'
import type { WritingStepParts } from '../../http/pipelines/writing.ts'
import { queryRecorder } from '../../http/query-recorder.ts'
import { documentFormatOf } from '../../indexing/document-format.ts'
import { haveIdentifierRows } from '../../indexing/lifecycle/identifier-rows.ts'
import { fullyEvaluatedIndex } from '../../interactions/consistency/fully-evaluated-index.ts'
import { identifierIndex } from '../../interactions/consistency/identifier-index.ts'
import { outdatedRejectingIndex, outdatedReportingIndex } from '../../interactions/consistency/outdated-index.ts'
import { recentWritesIndex } from '../../interactions/consistency/recent-writes-index.ts'
import { writeValidator } from '../../interactions/validation/write-validation.ts'
import type { OutdatedParameters, Searches } from '../../ports/search/search-index.ts'
import type { IdentifierRows } from '../../ports/store/identifier-rows.ts'
import type { ResourceReader } from '../../ports/store/resource-store.ts'
import { identifiersOf } from '../../search/documents/identifiers.ts'
import { findOutdatedParameters } from '../../search/documents/outdated-parameters.ts'
import { readAwsIdentity } from '../config.ts'
import { once } from '../once.ts'
import { withDeadline } from './deadlines.ts'
import { stepParts } from './http-handler.ts'
import { report } from './log.ts'
import {
  baseSearchContext,
  blobs,
  clock,
  config,
  definitions,
  definitionWriter,
  deploymentSettings,
  expressions,
  identifierRows,
  indexProgress,
  resources,
  seal,
  searchContexts,
  store,
} from './ports.ts'

/**
 * How long a function caches which indices are being rebuilt, in milliseconds. It must stay well below the setting rebuildWait: the rebuild
 * waits that long until every function writes to the new index.
 */
const KNOWN_FOR = 5_000

export function openIndex(options: Partial<OpenSearchOptions> = {}): OpenSearchIndex {
  const { searchEndpoint, searchSigning, searchPrefix, searchShards, searchReplicas } = deploymentSettings()
  const { region } = readAwsIdentity()
  const signing = searchSigning === 'sigv4' ? { region, credentials: () => readAwsIdentity().credentials } : undefined
  return new OpenSearchIndex(openSearchClient(searchEndpoint, signing), {
    prefix: searchPrefix,
    epoch: deploymentSettings().epoch,
    settings: { auto_expand_replicas: `0-${searchReplicas}` },
    shards: searchShards,
    budget: config().searchBudget,
    knownFor: KNOWN_FOR,
    live: () => searchContexts().state(clock().now()),
    ...options,
  })
}

const outdatedParameters: OutdatedParameters = {
  async outdated(subject) {
    const now = clock().now()
    return findOutdatedParameters(subject, await searchContexts().changes(now), await searchContexts().of(subject.tenant, now))
  },
}

/** OpenSearch index of functions that answer requests. Its attempts fit into the 29 seconds of API Gateway. */
const openSearchIndex = /* @__PURE__ */ once(() => openIndex({ attempts: 3, patience: 8_000 }))
export const index = /* @__PURE__ */ once(() => outdatedReportingIndex(openSearchIndex(), outdatedParameters))

/**
 * Returns an index that also finds the latest writes. It reads them once, so each attempt of an interaction needs a new one. `maxVersions`: see
 * recentWritesIndex.
 */
export const consistentIndex = (maxVersions: number): Searches => guardedIndex(latestIndex(maxVersions))

const guardedIndex = (latest: Searches): Searches =>
  fullyEvaluatedIndex(outdatedRejectingIndex(latest, outdatedParameters), indexProgress())

const evaluation = () => ({ clock: clock(), expressions: expressions(), reading: (tenant: string) => searchContexts().now(tenant) })

const latestIndex = (maxVersions: number): Searches =>
  recentWritesIndex({ index: index(), resources: store(), ...evaluation(), maxVersions })

const documentFormat = /* @__PURE__ */ once(() => documentFormatOf(baseSearchContext()))

const haveRows = async (type: string): Promise<boolean> =>
  haveIdentifierRows(await searchContexts().state(clock().now()), type, documentFormat())

/** Returns the index for one attempt of a conditional interaction. */
const conditionalIndex = (rows: Pick<IdentifierRows, 'carrying' | 'forget'>): Searches =>
  guardedIndex(
    identifierIndex({
      index: latestIndex(deploymentSettings().conditionalVersions),
      rows,
      resources: store(),
      ...evaluation(),
      haveRows,
      report: (error) => report(error, 'identifiers'),
    }),
  )

export const bodyStepParts = (): WritingStepParts => ({
  ...stepParts(),
  recorder: queryRecorder(seal()),
  writes: config().writes,
  maxBody: config().maxBodyBytes,
  tokens: {
    seal: seal(),
    clock: clock(),
    consistency: config().consistency,
    index: { caughtUp: (tokens, patience) => withDeadline(() => openSearchIndex().caughtUp(tokens, patience))(undefined) },
    blobs: blobs(),
    tokensOf: (written) => written.map(({ versionId, ...key }) => tokenOf({ ...key, version: versionId })),
  },
})

/** How long writes may use cached tenant definitions, in milliseconds. */
const WRITES_LAG = 10_000

/** Identifier rows for a function without the permission to remove outdated ones. */
const readOnlyRows = (): Pick<IdentifierRows, 'carrying' | 'forget'> => ({
  carrying: (...asked) => identifierRows().carrying(...asked),
  forget: async () => undefined,
})

/** Returns an index that also finds the latest writes, for a function that does not write. */
export const latestSearches = (): Searches => conditionalIndex(readOnlyRows())

/** Returns the ports of interactions that write, without the writer. */
export const portsWithoutWriter = () => ({
  resources: resources(),
  heads: (...asked: Parameters<ResourceReader['heads']>) => store().heads(...asked),
  latest: latestSearches,
  clock: clock(),
  expressions: expressions(),
  choices: config(),
  progress: indexProgress(),
  identifiersOf,
  profiled: writeValidator(config().validateProfiles, () => ({
    ...definitions(WRITES_LAG),
    expressions: expressions(),
    clock: clock(),
  })),
})

export const writePorts = () => ({ ...portsWithoutWriter(), latest: () => conditionalIndex(identifierRows()), writer: definitionWriter() })
