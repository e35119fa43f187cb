/** Waits until versions are visible to searches. It reads them by id, which needs no refresh, and then refreshes the index. */
import { setTimeout as wait } from 'node:timers/promises'
import { forEachInParallel } from '../../ports/execution/parallel.ts'
import type { IndexDocument } from '../../ports/search/search-index.ts'
import type { Cluster } from './cluster.ts'
import { idOf } from './document-body.ts'
import { externalVersion } from './external-version.ts'

/** Returns the token of a version that will be indexed. */
export const tokenOf = (document: Pick<IndexDocument, 'tenant' | 'type' | 'id' | 'version'>): string =>
  `${idOf(document)}~${document.version}`

/** Returns the name of the serving index of a type, whether it exists or not. */
export type IndexNameLookup = (type: string) => Promise<string>

type Version = { readonly type: string; readonly id: string; readonly version: number }
type Answer = { readonly docs: readonly { readonly _version?: number }[] }

const BETWEEN = 50
const AT_ONCE = 8

/** `epoch`: restore generation, see external-version.ts. */
export type VisibilityParts = { readonly cluster: Cluster; readonly nameOf: IndexNameLookup; readonly epoch: number }

/** Waits at most `patience` milliseconds, and returns whether all versions are visible. */
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
 * Makes the documents of one index visible, or does nothing if it is missing. The failure of a refresh of several indices would not
 * identify the index.
 */
export async function refreshIndex(cluster: Cluster, name: string): Promise<void> {
  await cluster.send({ method: 'POST', path: `/${name}/_refresh`, querystring: { ignore_unavailable: true } })
}

async function missingOf(cluster: Cluster, nameOf: IndexNameLookup, versions: readonly Version[]): Promise<readonly Version[]> {
  if (versions.length === 0) return []
  const docs = await Promise.all(versions.map(async ({ type, id }) => ({ _index: await nameOf(type), _id: id, _source: false })))
  const answer = await cluster.send<Answer>({ method: 'POST', path: '/_mget', body: { docs } })
  return versions.filter(({ version }, i) => (answer.docs[i]?._version ?? 0) < version)
}

/** Parses a token from its end: a tenant may contain the separator, types and ids do not. */
function versionOf(token: string): Version {
  const [type, , version] = token.split('~').slice(-3)
  if (type === undefined || version === undefined) throw new RangeError('a token of another kind')
  return { type, id: token.slice(0, token.lastIndexOf('~')), version: Number(version) }
}
