/**
 * Archive of audit records in a bucket that retains every version of its objects. An object holds records of one day (UTC) and tenant, one a
 * line of JSON, compressed. Its key starts with the times of its first and last record, so a reader finds the objects of a minute:
 * `audit/2026-01-31/TENANT/030405006-030459999-BATCH.ndjson.gz`
 */
import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import { GetObjectCommand, ListObjectVersionsCommand, type ObjectVersion, PutObjectCommand, type S3Client } from '@aws-sdk/client-s3'
import { forEachInParallel } from '../../ports/execution/parallel.ts'
import type { AuditArchive } from '../../ports/security/audit-archive.ts'
import { auditDayOf, auditLineOf, parseAuditLine } from '../../ports/security/audit-lines.ts'
import { AUDIT_MINUTE_MS, type AuditSource, type AuditTest, type StoredAuditRecord } from '../../ports/security/audit-source.ts'

/** Start of the keys of all objects. */
const PREFIX = 'audit/'
/** Maximum objects that are read or written at once. */
const WIDTH = 16

const [compress, decompress] = [promisify(gzip), promisify(gunzip)]

export class S3AuditArchive implements AuditArchive {
  readonly #client: S3Client
  readonly #bucket: string

  constructor(client: S3Client, bucket: string) {
    this.#client = client
    this.#bucket = bucket
  }

  async add(records: readonly StoredAuditRecord[], batch: string): Promise<void> {
    const objects = Map.groupBy(records, ({ record }) => folderOf(auditDayOf(record.at), record.tenant))
    await forEachInParallel([...objects], WIDTH, async ([folder, some]) => {
      const times = some.map(({ record }) => record.at).sort((a, b) => a - b)
      const Key = `${folder}${timeOf(times[0]!)}-${timeOf(times.at(-1)!)}-${batch}.ndjson.gz`
      const Body = await compress(some.map(lineOf).join(''))
      await this.#client.send(new PutObjectCommand({ Bucket: this.#bucket, Key, Body, ContentType: 'application/gzip' }))
    })
  }
}

/** One pass through the archive. It also reads versions of objects that were overwritten or deleted later. */
export class S3AuditArchiveReader implements AuditSource {
  readonly #client: S3Client
  readonly #bucket: string
  readonly #tenant: string | undefined
  /** Day of the objects in `#objects`, which are those not yet read, latest first. */
  #day = ''
  #objects: AuditObject[] = []
  /** Records of later minutes from objects that were already read, by minute. */
  readonly #later = new Map<number, StoredAuditRecord[]>()

  /** `tenant`: reads only records of this tenant; undefined: of all. */
  constructor(client: S3Client, bucket: string, tenant?: string) {
    this.#client = client
    this.#bucket = bucket
    this.#tenant = tenant
  }

  /** Returns the start of the first day with records, in milliseconds since 1970, or undefined if there are none. */
  async firstDay(): Promise<number | undefined> {
    for await (const { Key } of this.#versions(PREFIX, 1)) return Date.parse(Key!.slice(PREFIX.length, PREFIX.length + 10))
    return undefined
  }

  async readMinute(minute: number, isWanted: AuditTest): Promise<readonly StoredAuditRecord[]> {
    await this.#openDay(auditDayOf(minute), timeOf(minute))
    const end = timeOf(minute + AUDIT_MINUTE_MS - 1)
    const due: AuditObject[] = []
    while (this.#objects.length > 0 && this.#objects.at(-1)!.first <= end) due.push(this.#objects.pop()!)
    await forEachInParallel(due, WIDTH, async ({ version }) => {
      for (const stored of await this.#recordsOf(version)) if (isWanted(stored.record)) this.#addLater(stored)
    })
    const found = this.#later.get(minute) ?? []
    this.#later.delete(minute)
    return found
  }

  /** Lists the objects of another day that hold records of this time or later. */
  async #openDay(day: string, time: string): Promise<void> {
    if (day === this.#day) return
    const objects: AuditObject[] = []
    const prefix = this.#tenant === undefined ? `${PREFIX}${day}/` : folderOf(day, this.#tenant)
    for await (const version of this.#versions(prefix)) {
      const [first = '', last = ''] = version.Key!.slice(version.Key!.lastIndexOf('/') + 1).split('-')
      if (last >= time) objects.push({ first, version: { Key: version.Key!, VersionId: version.VersionId! } })
    }
    this.#day = day
    this.#objects = objects.sort((a, b) => (a.first < b.first ? 1 : -1))
  }

  #addLater(stored: StoredAuditRecord): void {
    const minute = stored.record.at - (stored.record.at % AUDIT_MINUTE_MS)
    const some = this.#later.get(minute)
    if (some === undefined) this.#later.set(minute, [stored])
    else some.push(stored)
  }

  async #recordsOf({ Key, VersionId }: AuditObject['version']): Promise<readonly StoredAuditRecord[]> {
    const { Body } = await this.#client.send(new GetObjectCommand({ Bucket: this.#bucket, Key, VersionId }))
    const lines = (await decompress(await Body!.transformToByteArray())).toString().split('\n')
    return lines.filter((line) => line !== '').map(parseLine)
  }

  /** `size`: versions of a page. */
  async *#versions(Prefix: string, size = 1_000): AsyncGenerator<ObjectVersion> {
    let after: { readonly KeyMarker?: string; readonly VersionIdMarker?: string } | undefined = {}
    while (after !== undefined) {
      const request: ListObjectVersionsCommand = new ListObjectVersionsCommand({ Bucket: this.#bucket, Prefix, MaxKeys: size, ...after })
      const { Versions = [], IsTruncated, NextKeyMarker, NextVersionIdMarker } = await this.#client.send(request)
      yield* Versions
      after = IsTruncated ? { KeyMarker: NextKeyMarker!, VersionIdMarker: NextVersionIdMarker! } : undefined
    }
  }
}

/** Version of an object. `first`: time of its first record, as in its key. A busy day has hundreds of thousands. */
type AuditObject = { readonly first: string; readonly version: { readonly Key: string; readonly VersionId: string } }

/** Returns the time of day of an instant, as `030405006`. */
const timeOf = (at: number): string => new Date(at).toISOString().slice(11, 23).replace(/\D/g, '')

/** Returns the folder of a day and tenant. A record of a request to several tenants or to none is in the folder `~`. */
const folderOf = (day: string, tenant: string): string => `${PREFIX}${day}/${/^[A-Za-z0-9_-]{1,64}$/.test(tenant) ? tenant : '~'}/`

const lineOf = ({ id, record }: StoredAuditRecord): string => auditLineOf({ ...record, id })

function parseLine(line: string): StoredAuditRecord {
  const { id = '', ...record } = parseAuditLine(line)
  return { id, record }
}
