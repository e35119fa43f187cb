/**
 * BlobStore that limits the bytes of stored queries per tenant and in total, so that searches cannot fill the disk. Above the limit of a
 * tenant it removes the oldest query of that tenant. Above the total it removes the oldest query of the tenant with the most bytes. Counts
 * are local, so only one process may store queries.
 */
import type { Blob, BlobParts, BlobStore } from '../../ports/blobs/blob-store.ts'
import { QUERY_KEY_PREFIX, tenantDigestOf } from './stored-query.ts'

/** Maximum bytes of stored queries, per tenant and in total. Above either, the oldest queries are removed. */
export type StoredQueryQuota = { readonly ofTenant: number; readonly inAll: number }

/** Bytes that count for a smaller query, because each file occupies at least that much of the disk. */
const LEAST = 4_096

type OfTenant = { sum: number; readonly sizes: Map<string, number> }

export class QuotaBlobStore implements BlobStore {
  readonly #blobs: BlobStore
  readonly #bounds: StoredQueryQuota
  /** Stored queries and their bytes, by tenant digest. The oldest query of a tenant comes first. */
  readonly #kept = new Map<string, OfTenant>()
  #sum = 0
  #known: Promise<void> | undefined

  constructor(blobs: BlobStore, bounds: StoredQueryQuota) {
    this.#blobs = blobs
    this.#bounds = bounds
  }

  async put(key: string, blob: Blob): Promise<void> {
    if (!key.startsWith(QUERY_KEY_PREFIX)) return this.#blobs.put(key, blob)
    // If listing fails, queries of an earlier process do not count. The sweep removes them after two days.
    this.#known ??= this.#learn().catch(() => undefined)
    await this.#known
    await this.#blobs.put(key, blob)
    this.#add(key, blob.bytes.length)
    for (let gone = this.#tooMuch(tenantDigestOf(key)); gone !== undefined; gone = this.#tooMuch(tenantDigestOf(key)))
      await this.remove(gone)
  }

  get(key: string, range?: readonly [from: number, to: number]): Promise<Blob | undefined> {
    return this.#blobs.get(key, range)
  }

  async remove(key: string): Promise<void> {
    this.#forget(key)
    await this.#blobs.remove(key)
  }

  list(prefix: string, after?: string): ReturnType<BlobStore['list']> {
    return this.#blobs.list(prefix, after)
  }

  openParts(key: string, contentType: string, id?: string): Promise<BlobParts> {
    return this.#blobs.openParts(key, contentType, id)
  }

  unfinished(prefix: string): ReturnType<BlobStore['unfinished']> {
    return this.#blobs.unfinished(prefix)
  }

  abortParts(prefix: string): Promise<void> {
    return this.#blobs.abortParts(prefix)
  }

  async #learn(): Promise<void> {
    const found: { readonly key: string; readonly size: number; readonly written: number }[] = []
    for await (const info of this.#blobs.list(QUERY_KEY_PREFIX)) found.push(info)
    for (const { key, size } of found.toSorted((a, b) => a.written - b.written)) this.#add(key, size)
  }

  #add(key: string, bytes: number): void {
    this.#forget(key)
    const of = this.#kept.get(tenantDigestOf(key)) ?? { sum: 0, sizes: new Map<string, number>() }
    const size = Math.max(LEAST, bytes)
    of.sizes.set(key, size)
    of.sum += size
    this.#sum += size
    this.#kept.set(tenantDigestOf(key), of)
  }

  #forget(key: string): void {
    const of = this.#kept.get(tenantDigestOf(key))
    const size = of?.sizes.get(key)
    if (of === undefined || size === undefined) return
    of.sizes.delete(key)
    of.sum -= size
    this.#sum -= size
    if (of.sizes.size === 0) this.#kept.delete(tenantDigestOf(key))
  }

  /**
   * Returns the key of the next query to remove, or undefined if no limit is exceeded. `owner`: digest of the tenant that just stored a
   * query.
   */
  #tooMuch(owner: string): string | undefined {
    const { ofTenant, inAll } = this.#bounds
    const mine = this.#kept.get(owner)
    if (mine !== undefined && mine.sum > ofTenant) return first(mine)
    return this.#sum > inAll ? first([...this.#kept.values()].reduce((most, each) => (each.sum > most.sum ? each : most))) : undefined
  }
}

const first = ({ sizes }: OfTenant): string | undefined => sizes.keys().next().value
