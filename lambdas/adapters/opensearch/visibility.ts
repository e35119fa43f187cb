/**
 * Waits until versions are visible to searches. It reads documents by id, which needs no refresh, until all are indexed. Then it refreshes
 * the indices.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { forEachInParallel } from '../../ports/execution/parallel.ts'
import type { IndexDocument } from '../../ports/search/search-index.ts'
import { type Cluster, OpenSearchError, SHARDS_FAILED, type ShardCounts } from './cluster.ts'
import { idOf } from './document-body.ts'
import { externalVersion } from './external-version.ts'

/** Returns the token of a version that will be indexed, for `waitUntilVisible`. */
export const tokenOf = (document: Pick<IndexDocument, 'tenant' | 'type' | 'id' | 'version'>): string =>
  `${idOf(document)}~${document.version}`

/** Returns the name of the serving index of a type, even if that index does not exist. */
export type IndexNameLookup = (type: string) => Promise<string>

type Version = { readonly type: string; readonly id: string; readonly version: number }
type Answer = { readonly docs: readonly { readonly _version?: number }[] }

const BETWEEN = 50
const AT_ONCE = 8

/** `epoch`: restore generation of the store (external-version.ts). */
export type VisibilityParts = { readonly cluster: Cluster; readonly nameOf: IndexNameLookup; readonly epoch: number }

/**
 * Waits at most `patience` milliseconds until all versions are indexed, then makes them visible. Returns false if the time was too short.
 */
export async function waitUntilVisible(
  { cluster, nameOf, epoch }: VisibilityParts,
  tokens: readonly string[],
  patience: number,
): Promise<boolean> {
  const until = performance.now() + patience
  let missing: readonly Version[] = tokens.map((token) => {
    const { version, ...document } = versionOf(token)
    return { ...document, version: externalVersion(epoch, version) }
  })
  for (;;) {
    missing = await missingOf(cluster, nameOf, missing)
    if (missing.length === 0) break
    if (performance.now() + BETWEEN > until) return false
    await wait(BETWEEN)
  }
  const names = await Promise.all([...new Set(tokens.map((token) => versionOf(token).type))].map(nameOf))
  await forEachInParallel(names, AT_ONCE, (name) => refreshIndex(cluster, name))
  return true
}

/**
 * Makes the documents of one index visible to searches, or does nothing if the index is missing. Each index has a request of its own, so
 * that a failure identifies it. Throws if a copy that answers searches may lack documents.
 */
export async function refreshIndex(cluster: Cluster, name: string): Promise<void> {
  const { total, successful } = await refresh(cluster, name)
  if (successful === total) return
  // Copies without a node count in `total` only, like those of a shard without a primary, which the refresh does not reach.
  const copies = await countCopies(cluster, name)
  // guard: refresh-reaches-all-shards
  if (copies === undefined || (await refresh(cluster, name)).successful < copies) throw new OpenSearchError(503, SHARDS_FAILED)
}

const IF_ANY = { ignore_unavailable: true }

/** Returns the numbers of copies. https://docs.opensearch.org/latest/api-reference/index-apis/refresh/ */
async function refresh(cluster: Cluster, name: string): Promise<ShardCounts> {
  const { _shards } = await cluster.send<{ readonly _shards: ShardCounts }>({
    ...{ method: 'POST', path: `/${name}/_refresh`, querystring: IF_ANY },
  })
  return _shards
}

type Copies = { readonly shards: readonly (readonly { readonly primary: boolean; readonly state: string }[])[] }

/**
 * Returns the number of copies that answer searches, or undefined if a shard has no primary.
 * https://docs.opensearch.org/latest/api-reference/search-apis/search-shards/
 */
async function countCopies(cluster: Cluster, name: string): Promise<number | undefined> {
  const { shards } = await cluster.send<Copies>({ method: 'POST', path: `/${name}/_search_shards`, querystring: IF_ANY })
  const started = shards.map((copies) => copies.filter(({ state }) => STARTED.has(state)))
  return started.every((copies) => copies.some(({ primary }) => primary)) ? started.flat().length : undefined
}

/** States of a copy that answers searches. One that moves to another node answers until it is there. */
const STARTED = new Set(['STARTED', 'RELOCATING'])

async function missingOf(cluster: Cluster, nameOf: IndexNameLookup, versions: readonly Version[]): Promise<readonly Version[]> {
  if (versions.length === 0) return []
  const docs = await Promise.all(versions.map(async ({ type, id }) => ({ _index: await nameOf(type), _id: id, _source: false })))
  const answer = await cluster.send<Answer>({ method: 'POST', path: '/_mget', body: { docs } })
  return versions.filter(({ version }, i) => (answer.docs[i]?._version ?? 0) < version)
}

/** Parses a token. It starts at the end, because the tenant may contain the separator, and type and id do not. */
function versionOf(token: string): Version {
  const [type, , version] = token.split('~').slice(-3)
  if (type === undefined || version === undefined) throw new RangeError('a token of another kind')
  return { type, id: token.slice(0, token.lastIndexOf('~')), version: Number(version) }
}
