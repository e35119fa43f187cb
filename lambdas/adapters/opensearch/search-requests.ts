/**
 * Sends searches, and converts failures to faults of the search port. https://docs.opensearch.org/latest/api-reference/search-apis/search/
 */
import { MachineFault } from '../../ports/faults.ts'
import type { HitPosition, SortKey } from '../../ports/search/plan.ts'
import type { Hit } from '../../ports/search/search-index.ts'
import { type Cluster, type ClusterRequest, OpenSearchError, SHARDS_FAILED, type ShardCounts } from './cluster.ts'
import { readBody } from './document-body.ts'
import { resourceVersionOf } from './external-version.ts'
import { sortText, sortValue } from './sort-values.ts'

export type FoundHit = {
  readonly _version: number
  readonly _source?: { readonly body?: string }
  readonly sort: readonly (string | null)[]
}

export type SearchResponse<Aggregations = unknown> = {
  readonly timed_out: boolean
  readonly hits: {
    readonly total?: { readonly value: number; readonly relation: 'eq' | 'gte' }
    readonly hits: readonly FoundHit[]
  }
  readonly aggregations?: Aggregations
  /** Shards of the searched indices. Those that cannot have a match are skipped, and count as successful. */
  readonly _shards: ShardCounts
  /** Error of this search, if it is one of several in a request. */
  readonly error?: { readonly type?: string }
  readonly status?: number
}

type Body = Readonly<Record<string, unknown>>

/** Matches errors of a query that is too large for the engine. */
const LARGE = /too_many_(?:nested_)?clauses|max_?[cC]lause_?[cC]ount|Determinizing/
/** Matches errors of a search that the engine stopped. */
const STOPPED = /time_exceeded_exception|task_cancelled_exception/
const COSTLY = new RegExp(`${LARGE.source}|${STOPPED.source}`)

/** Rejects partial results. A missing index or a shard without response may contain matches. */
export const STRICT = { ignore_unavailable: false, allow_partial_search_results: false } as const

/** Maximum index names in a URL path. More of them may exceed the maximum length of a request line, so they are sent in the body. */
const MOST_IN_PATH = 30

/** Returns the names of the indices of types. Throws the fault `unavailable` if one of them is lost or unreconciled. */
export type IndexNamesLookup = (types: readonly string[]) => Promise<readonly string[]>

/** One search, which may need several requests. All of them and their retries share one time limit. */
export class SearchSession {
  readonly #cluster: Cluster
  readonly #namesOf: IndexNamesLookup
  readonly #until: number

  /** `budget`: time limit of the search, in milliseconds from now. */
  constructor(cluster: Cluster, namesOf: IndexNamesLookup, budget: number) {
    this.#cluster = cluster
    this.#namesOf = namesOf
    this.#until = cluster.now() + budget
  }

  async search<Aggregations>(types: readonly string[], body: Body): Promise<SearchResponse<Aggregations>> {
    const names = await this.#namesOf(types)
    if (names.length > MOST_IN_PATH) return (await this.#searchAll<Aggregations>(names, [body]))[0]!
    const path = `/${names.join(',')}/_search`
    const found = await this.#send<SearchResponse<Aggregations>>({ method: 'POST', path, querystring: STRICT, body })
    checkPart(found)
    return found
  }

  /** Sends several searches of the same types in one request. Returns the responses in the order of the bodies. */
  async searchAll(types: readonly string[], bodies: readonly Body[]): Promise<readonly SearchResponse[]> {
    return bodies.length === 0 ? [] : this.#searchAll(await this.#namesOf(types), bodies)
  }

  async #searchAll<Aggregations>(names: readonly string[], bodies: readonly Body[]): Promise<readonly SearchResponse<Aggregations>[]> {
    const header = JSON.stringify({ index: names, ...STRICT })
    const lines = bodies.map((body) => `${header}\n${JSON.stringify(body)}\n`).join('')
    const { responses } = await this.#send<{ readonly responses: readonly SearchResponse<Aggregations>[] }>({
      method: 'POST',
      path: '/_msearch',
      lines,
    })
    for (const response of responses) checkPart(response)
    return responses
  }

  #send<Answer>(request: ClusterRequest): Promise<Answer> {
    if (this.#cluster.now() >= this.#until) throw new MachineFault('too-costly', 'the search took too long')
    return this.#cluster.send<Answer>({ ...request, final: COSTLY, until: this.#until }).catch(explained)
  }
}

function checkPart(answer: SearchResponse): void {
  const { timed_out, error, status, _shards } = answer
  if (error !== undefined) explained(new OpenSearchError(status ?? 500, error.type ?? 'part of several searches', error))
  // guard: search-reaches-all-shards
  if (_shards.successful !== _shards.total) throw new OpenSearchError(503, SHARDS_FAILED)
  if (timed_out) throw new MachineFault('too-costly', 'the search took too long')
}

function explained(error: unknown): never {
  if (!(error instanceof OpenSearchError)) throw error
  if (error.status === 404) throw new MachineFault('unavailable', 'an index is missing', { cause: error })
  if (error.isTimeout || error.says(STOPPED)) throw new MachineFault('too-costly', 'the search took too long', { cause: error })
  throw error.says(LARGE) ? new MachineFault('too-costly', 'the search is too large', { cause: error }) : error
}

/** Returns the sort clause. Documents without a value come last in both directions. Equal values are sorted by type, then by id. */
export const sortOf = (order: readonly SortKey[]): readonly Body[] => [
  ...order.map(({ field, descending }) => ({
    [`${descending ? 'high' : 'low'}.${field}`]: { order: descending ? 'desc' : 'asc', missing: '_last', unmapped_type: 'keyword' },
  })),
  { type: { order: 'asc', unmapped_type: 'keyword' } },
  { id: { order: 'asc', unmapped_type: 'keyword' } },
]

export const searchAfter = ({ values, type, id }: HitPosition, order: readonly SortKey[]): readonly (string | null)[] => [
  ...order.map((_, i) => (values[i] === null || values[i] === undefined ? null : sortText(values[i]))),
  type,
  id,
]

export function hitOf({ _version, _source, sort }: FoundHit): Hit {
  const [type, id] = sort.slice(-2) as [string, string]
  const values = sort.slice(0, -2).map((each) => (each === null ? null : sortValue(each)))
  const body = _source?.body
  return {
    type,
    id,
    version: resourceVersionOf(_version),
    position: { values, type, id },
    ...(body === undefined ? {} : { body: readBody(body) }),
  }
}
