/** Stores of the embedded deployment while it serves: the store, the thread of its index, and the process that evaluates expressions. */
import type { ForkedExpressionRunner } from '../../adapters/in-process/expression-runner.ts'
import { SqliteResourceStore } from '../../adapters/sqlite-store/resource-store.ts'
import type { Definitions } from '../../indexing/custom-definitions.ts'
import { NotIndexed } from '../../indexing/stream/unindexable-versions.ts'
import { type RequestStore, versionCache } from '../../interactions/resources/version-cache.ts'
import { isFault } from '../../ports/faults.ts'
import type { ResourceVersion } from '../../ports/store/resource-store.ts'
import type { SearchContext } from '../../search/search-context.ts'
import { expressionRunner } from '../expressions/forked-expressions.ts'
import { DefinitionsInUse } from '../threads/search/definitions-in-use.ts'
import { ThreadedIndex } from '../threads/search/threaded-index.ts'
import { WriteOrigins } from './write-origins.ts'

export type Stores = {
  readonly store: SqliteResourceStore
  /** The same store for requests, with a cache of recently read versions. */
  readonly requests: RequestStore
  readonly searcher: ThreadedIndex
  readonly definitions: DefinitionsInUse
  readonly expressions: ForkedExpressionRunner
  readonly origins: WriteOrigins
  /** Closes all stores, even if one cannot be closed. */
  readonly close: () => Promise<void>
}

export type StoresParts = {
  /** Returns the path of a file in the data folder. */
  readonly path: (name: string) => string
  readonly now: () => number
  readonly reading: SearchContext
  /** Maximum milliseconds of a search. */
  readonly budget: number
  readonly report: (error: unknown, requestId: string) => void
  /** Receives one-line warnings for the operator. */
  readonly warn?: (line: string) => void
}

/** Opens the stores. If that fails, closes everything that it opened. */
export async function openStores({ path, now, reading, budget, report, warn = () => undefined }: StoresParts): Promise<Stores> {
  await using opened = new AsyncDisposableStack()
  const definitions = new DefinitionsInUse()
  const origins = new WriteOrigins()
  const store = await SqliteResourceStore.open({ file: path('store.db'), now, onCommit: () => searcher.follow() })
  opened.defer(() => store.close())
  const defining = await definingIn(store)
  const searcher = new ThreadedIndex({
    thread: new URL('../threads/search/search-thread.ts', import.meta.url),
    store: path('store.db'),
    index: path('index.db'),
    acknowledged: (tenant) => store.lastPosition(tenant),
    reading,
    ...{ defining, budget, warn },
    report(error) {
      definitions.silent()
      report(error, (error instanceof NotIndexed ? origins.requestOf(error.version) : undefined) ?? '')
    },
    onDefinitions: (changed) => definitions.take(changed as Partial<Definitions>),
  })
  opened.defer(() => searcher.close())
  // Without SearchParameters in the store, requests need not wait for the index thread to report definitions.
  if (!(await isDefinedAny(store))) definitions.take({})
  const expressions = expressionRunner()
  opened.defer(() => expressions.close())
  const all = opened.move()
  return { store, requests: versionCache(store), searcher, definitions, expressions, origins, close: () => all.disposeAsync() }
}

async function isDefinedAny(store: SqliteResourceStore): Promise<boolean> {
  for await (const tenant of store.tenants()) {
    const { versions } = await store.history({ tenant, type: 'SearchParameter' }, {}, undefined, 1)
    if (versions.length > 0) return true
  }
  return false
}

/**
 * Returns the current SearchParameters of all tenants. Returns none if a damaged version makes the store unreadable: the index then reads
 * them while it follows the change feed.
 */
async function definingIn(store: SqliteResourceStore): Promise<readonly ResourceVersion[]> {
  try {
    const found: ResourceVersion[] = []
    for await (const tenant of store.tenants()) found.push(...(await definingOf(store, tenant)))
    return found
  } catch (error) {
    if (isFault(error, 'store-damaged')) return []
    throw error
  }
}

async function definingOf(store: SqliteResourceStore, tenant: string): Promise<readonly ResourceVersion[]> {
  const found: ResourceVersion[] = []
  const all = { tenant, type: 'SearchParameter', asOf: Number.MAX_SAFE_INTEGER, limit: 100 }
  for await (const { versions } of store.scan(all)) found.push(...versions)
  return found
}
