/**
 * Stores content that links cannot carry: long parameters, parameters from a body, and long cursors. It is retained for two to three days,
 * longer than the cursors that refer to it are valid.
 */
import { createHash } from 'node:crypto'
import type { BlobStore } from '../../ports/blobs/blob-store.ts'
import type { QueryDigest } from '../../ports/security/query-digest.ts'
import type { ParameterPairs } from '../../search/query/parameter-pairs.ts'
import type { Ports } from '../interaction.ts'
import type { LinkOwner } from './cursor.ts'

export const QUERY_KEY_PREFIX = 'queries/'
type QueryPorts = Pick<Ports, 'blobs' | 'clock' | 'seal'>
const DAY = 24 * 60 * 60 * 1000

const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10)

/** Returns the key: the day (UTC), a digest of the tenant, and a keyed digest of the content and its caller, because logs of S3 show keys. */
const keyOf = (at: number, tenant: string, text: string, digests: QueryDigest): string =>
  `${dayOf(at)}/${hashed(tenant).slice(0, 16)}/${digests.digest(text)}`

const hashed = (text: string): string => createHash('sha256').update(text).digest('base64url')

/** Returns the digest of the tenant from the key of a blob. */
export const tenantDigestOf = (key: string): string => key.split('/').at(-2) ?? ''

/**
 * Stores `kept` as JSON and returns its key. Within a day (UTC), the same content of the same tenant and client has the same key, and is
 * stored once.
 */
export async function storeQuery({ blobs, clock, seal }: QueryPorts, { tenant, client }: LinkOwner, kept: unknown): Promise<string> {
  const text = JSON.stringify([tenant, client, kept])
  const key = keyOf(clock.now(), tenant, text, seal)
  if ((await blobs.get(QUERY_KEY_PREFIX + key)) === undefined)
    await blobs.put(QUERY_KEY_PREFIX + key, { bytes: new TextEncoder().encode(text), contentType: 'application/json' })
  return key
}

/** Returns the stored content, or undefined if it was removed or belongs to another tenant or client. */
export async function readStoredQuery<Kept = ParameterPairs>(blobs: BlobStore, caller: LinkOwner, key: string): Promise<Kept | undefined> {
  const blob = await blobs.get(QUERY_KEY_PREFIX + key)
  if (blob === undefined) return undefined
  const [tenant, client, kept] = JSON.parse(new TextDecoder().decode(blob.bytes)) as [string, string, Kept]
  // guard: stored-query-of-caller
  return tenant === caller.tenant && client === caller.client ? kept : undefined
}

/** Removes content that was stored more than two days ago: all cursors that refer to it have expired. */
export async function sweepStoredQueries(blobs: BlobStore, now: number): Promise<void> {
  const oldest = dayOf(now - 2 * DAY)
  for await (const { key } of blobs.list(QUERY_KEY_PREFIX)) if (key.slice(QUERY_KEY_PREFIX.length) < oldest) await blobs.remove(key)
}
