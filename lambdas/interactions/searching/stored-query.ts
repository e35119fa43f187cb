/** What links cannot carry: parameters they must not show, long ones and those that came in a body, and what was gathered for the next page. Kept a little longer than a cursor is good. */
import { createHash } from 'node:crypto'
import type { BlobStore } from '../../ports/blobs/blob-store.ts'
import type { Clock } from '../../ports/execution/clock.ts'
import type { Pairs } from '../../search/query/parameter-pairs.ts'
import type { Owner } from './cursor.ts'

export const QUERIES = 'queries/'
const DAY = 24 * 60 * 60 * 1000

const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10)

/** Day, tenant, and what is asked of whom. */
const keyOf = (at: number, tenant: string, text: string): string => `${dayOf(at)}/${hashed(tenant).slice(0, 16)}/${hashed(text)}`

const hashed = (text: string): string => createHash('sha256').update(text).digest('base64url')

/** The mark of the tenant in the key of a blob. */
export const ownerOf = (key: string): string => key.split('/').at(-2) ?? ''

/** `kept`: as JSON. The key under which it is kept: the same of one caller has the same key all day. */
export async function keepQuery(blobs: BlobStore, clock: Clock, { tenant, client }: Owner, kept: unknown): Promise<string> {
  const text = JSON.stringify([tenant, client, kept])
  const key = keyOf(clock.now(), tenant, text)
  if ((await blobs.get(QUERIES + key)) === undefined)
    await blobs.put(QUERIES + key, { bytes: new TextEncoder().encode(text), contentType: 'application/json' })
  return key
}

/** undefined: not kept any more, or another caller's. */
export async function keptQuery<Kept = Pairs>(blobs: BlobStore, caller: Owner, key: string): Promise<Kept | undefined> {
  const blob = await blobs.get(QUERIES + key)
  if (blob === undefined) return undefined
  const [tenant, client, kept] = JSON.parse(new TextDecoder().decode(blob.bytes)) as [string, string, Kept]
  // guard: stored-query-of-caller
  return tenant === caller.tenant && client === caller.client ? kept : undefined
}

/** Removes what no cursor refers to any more. */
export async function forgetQueries(blobs: BlobStore, now: number): Promise<void> {
  const oldest = dayOf(now - 2 * DAY)
  for await (const { key } of blobs.list(QUERIES)) if (key.slice(QUERIES.length) < oldest) await blobs.remove(key)
}
