/**
 * Bytes on disk of a document in one copy of an OpenSearch index, before and after merges. Needs an engine:
 * npx node test/engines/run.ts opensearch -- npm run bench -- disk
 */
import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import { Client } from '@opensearch-project/opensearch'
import { OpenSearchIndex } from '../../lambdas/adapters/opensearch/search-index.ts'
import type { Resource } from '../../lambdas/fhir/resource.ts'
import type { IndexDocument } from '../../lambdas/ports/search/search-index.ts'
import type { ServingIndices } from '../../lambdas/ports/search/serving-indices.ts'
import { extract } from '../../lambdas/search/documents/extract.ts'
import { documentSizesOf, MEAN_DOCUMENT } from '../../lib/model/document-sizes.ts'
import { resourceKeyOf, versionOf, writeOf } from '../fixtures/versions.ts'

const FOLDER = 'test/fixtures/sample'
/** Number of copies of each patient of the folder. */
const COPIES = 40
/**
 * A merge drops the sources of documents that no copy may still need. The engine moves this limit every 30 seconds, so an earlier merge would
 * retain sources.
 */
const LEASE_MS = 65_000
const prefix = `fhir-disk-${randomUUID()}`

type Bundle = { readonly entry: readonly { readonly resource: Resource & { readonly id: string } }[] }
type Stats = { readonly indices: Readonly<Record<string, { readonly primaries: { readonly store: { readonly size_in_bytes: number } } }>> }

const texts = readdirSync(FOLDER).map((name) => gunzipSync(readFileSync(join(FOLDER, name))).toString())

/** Returns the documents of a copy, which has its own ids. References have type and id, as after a transaction. */
function copyOf(text: string, copy: number): readonly IndexDocument[] {
  const renamed = text.replace(/[0-9a-f]{8}(?=-[0-9a-f]{4}-)/g, (part) =>
    ((Number.parseInt(part, 16) ^ copy) >>> 0).toString(16).padStart(8, '0'),
  )
  const types = new Map((JSON.parse(renamed) as Bundle).entry.map(({ resource }) => [resource.id, resource.resourceType]))
  const referring = renamed.replace(/"urn:uuid:([^"]+)"/g, (_, id: string) => `"${types.get(id)}/${id}"`)
  return (JSON.parse(referring) as Bundle).entry.map(({ resource: body }) =>
    extract(versionOf(writeOf(resourceKeyOf('one', body.resourceType, body.id), { body })), body, {}),
  )
}

const client = new Client({ node: process.env.OPENSEARCH_ENDPOINT! })
const send = async (method: string, path: string): Promise<unknown> => (await client.transport.request({ method, path })).body
const sizes = async (): Promise<ReadonlyMap<string, number>> => {
  const { indices } = (await send('GET', `/${prefix}-*/_stats/store`)) as Stats
  return new Map(Object.entries(indices).map(([name, { primaries }]) => [name.split('-v')[0]!, primaries.store.size_in_bytes]))
}

const settings = { auto_expand_replicas: '0-1', 'index.store.stats_refresh_interval': '0ms' }
let live: ServingIndices = { identity: 'disk', types: {}, former: [] }
const register = {
  begun: async (types: readonly string[], identity: string) => {
    live = { ...live, types: { ...live.types, ...Object.fromEntries(types.map((type) => [type, { identity }])) } }
    return live
  },
  lost: async (missing: object) => {
    throw new Error(`Indexes are missing: ${Object.keys(missing)}`)
  },
}
const index = new OpenSearchIndex(client, { prefix, live: async () => live, register, settings })
const counts = new Map<string, number>()
async function apply(copy: number): Promise<void> {
  for (const text of texts) {
    const documents = copyOf(text, copy)
    await index.apply(documents)
    for (const { type } of documents) counts.set(type, (counts.get(type) ?? 0) + 1)
  }
}
const flush = () => send('POST', `/${prefix}-*/_flush`)
for (let copy = 1; copy < COPIES; copy++) await apply(copy)
await flush()
const before = await sizes()
await setTimeout(LEASE_MS)
// An index with a single segment would not be merged, so each gets another one.
await apply(COPIES)
await flush()
await send('POST', `/${prefix}-*/_forcemerge?max_num_segments=1`)
await send('POST', `/${prefix}-*/_flush?force=true`)
const after = await sizes()
console.log('| type | documents | bytes of each, before merges | after | in the model, before | after |\n|---|---|---|---|---|---|')
const inModel = ({ unmerged, merged }: typeof MEAN_DOCUMENT): string => `${unmerged} | ${merged}`
const all = [0, 0, 0]
for (const [type, count] of [...counts].toSorted(([, a], [, b]) => b - a)) {
  const name = `${prefix}-${type.toLowerCase()}`
  // The last copy is missing before the merges.
  const [from, to] = [(before.get(name)! * COPIES) / (COPIES - 1), after.get(name)!]
  for (const [i, each] of [count, from, to].entries()) all[i]! += each
  console.log(`| ${type} | ${count} | ${Math.round(from / count)} | ${Math.round(to / count)} | ${inModel(documentSizesOf(type))} |`)
}
console.log(`| all | ${all[0]} | ${Math.round(all[1]! / all[0]!)} | ${Math.round(all[2]! / all[0]!)} | ${inModel(MEAN_DOCUMENT)} |`)
await send('DELETE', `/${prefix}-*-v*`)
await client.close()
