/** Writes a backup of all versions of a store. An interrupted backup continues after its last complete object. */
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { forEachInParallel } from '../../ports/execution/parallel.ts'
import {
  BACKUP_FORMAT,
  BackupFault,
  type BackupObject,
  type BackupStart,
  type BackupStore,
  checkFormat,
  descriptionKeyOf,
  digestOf,
  encodeLine,
  MANIFEST_KEY,
  type Manifest,
  objectKeyOf,
  objectsPrefixOf,
  placeOf,
  putJson,
  readJson,
  START_KEY,
  type TotalCount,
  VersionCounts,
} from './backup-format.ts'
import { type Position, type VersionSource, versionsAfter } from './version-stream.ts'

/** Stage or data folder that is copied. */
export type BackupOrigin = {
  /** Names it, so that a backup is continued from the same one. */
  readonly name: string
  readonly newId: () => string
  readonly wait: (ms: number) => Promise<unknown>
  /**
   * Prepares a new backup and returns its instant. `written`: time at which its first object was written. Both in milliseconds since 1970.
   */
  begin(backup: string, written: number): Promise<number>
  /** Whether an interrupted backup can still be continued. */
  canContinue(backup: string): boolean
  open(backup: string): VersionSource
}

export type BackupOptions = {
  readonly origin: BackupOrigin
  readonly store: BackupStore
  /** Called with the counts so far, after each object, and at the start if some are complete. */
  readonly onProgress?: (counts: TotalCount) => void
  /** Bytes of lines after which an object ends. */
  readonly objectBytes?: number
}

/** An object is in memory while it is written. It is also what an interrupted backup repeats at most. */
const OBJECT_BYTES = 32_000_000
/** Descriptions that are read at the same time when a backup continues. */
const DESCRIPTIONS = 32

type Description = BackupObject & { readonly next: Position }

/**
 * Writes the backup and returns its manifest. Throws a BackupFault if the location has a complete backup, or an unfinished one of another
 * source. After any other error, a repeated call continues.
 */
export async function writeBackup(options: BackupOptions): Promise<Manifest> {
  const { origin, store, onProgress = () => undefined, objectBytes = OBJECT_BYTES } = options
  const start = await beginBackup(options)
  const stream = { source: origin.open(start.id), instant: start.instant, wait: origin.wait }
  const objects = await writtenObjects(store, start)
  const counts = new VersionCounts()
  for (const each of objects) counts.addAll(each.counts)
  if (objects.length > 0) onProgress(counts.total())
  const after = objects.at(-1)?.next
  let pending = new PendingObject()
  const finish = async (next: Position): Promise<void> => {
    const object = await putObject(store, objects.length + 1, start, pending, next)
    objects.push(object)
    counts.addAll(object.counts)
    onProgress(counts.total())
    pending = new PendingObject()
  }
  let last = after
  for await (const { next, ...line } of versionsAfter({ ...stream, ...(after === undefined ? {} : { after }) })) {
    pending.add(line)
    last = next
    if (pending.bytes >= objectBytes) await finish(next)
  }
  if (pending.bytes > 0) await finish(last!)
  const listed = objects.map(({ key, size, sha256, counts }) => ({ key, size, sha256, counts }))
  const manifest: Manifest = { ...start, objects: listed, counts: counts.all() }
  await putJson(store, MANIFEST_KEY, manifest)
  return manifest
}

/** Returns the start of an unfinished backup in the location, or begins a new one. */
async function beginBackup({ store, origin }: BackupOptions): Promise<BackupStart> {
  // guard: complete-backup-is-not-replaced
  if ((await store.get(MANIFEST_KEY, [0, 1])) !== undefined)
    throw new BackupFault('occupied', placeOf(store, MANIFEST_KEY), 'belongs to a complete backup: name another prefix')
  const before = await readJson<BackupStart>(store, START_KEY)
  if (before?.instant !== undefined) {
    checkFormat(store, START_KEY, before)
    // guard: backup-continues-its-source
    if (before.source !== origin.name)
      throw new BackupFault(
        'occupied',
        placeOf(store, START_KEY),
        `belongs to an unfinished backup of ${before.source}: name another prefix`,
      )
    if (origin.canContinue(before.id)) return before
  }
  const begun = { format: BACKUP_FORMAT, id: origin.newId(), source: origin.name }
  await putJson(store, START_KEY, begun)
  const start = { ...begun, instant: await origin.begin(begun.id, await timeOf(store, START_KEY)) }
  await putJson(store, START_KEY, start)
  return start
}

async function timeOf(store: BackupStore, key: string): Promise<number> {
  for await (const each of store.list(key)) if (each.key === key) return each.written
  throw new BackupFault('missing', placeOf(store, key), 'is not listed although it was written')
}

/** Returns the descriptions of the complete objects of this backup, up to the first that is missing. */
async function writtenObjects(store: BackupStore, { id }: BackupStart): Promise<Description[]> {
  const keys: string[] = []
  for await (const { key } of store.list(objectsPrefixOf(id))) if (key.endsWith('.json')) keys.push(key)
  const found = new Map<string, Description>()
  await forEachInParallel(keys, DESCRIPTIONS, async (key) => {
    const description = await readJson<Description>(store, key)
    if (description !== undefined) found.set(key, description)
  })
  const objects: Description[] = []
  for (;;) {
    const next = found.get(descriptionKeyOf(id, objects.length + 1))
    if (next === undefined) return objects
    objects.push(next)
  }
}

/** Lines of an object that is not written yet. */
class PendingObject {
  readonly lines: Buffer[] = []
  readonly counts = new VersionCounts()
  bytes = 0

  add(line: Parameters<typeof encodeLine>[0]): void {
    const encoded = encodeLine(line)
    this.lines.push(encoded)
    this.bytes += encoded.length
    this.counts.add(line)
  }
}

/** Writes the object before its description: an object without one is written again. */
async function putObject(
  store: BackupStore,
  number: number,
  { id }: BackupStart,
  { lines, counts }: PendingObject,
  next: Position,
): Promise<Description> {
  const bytes = await promisify(gzip)(Buffer.concat(lines))
  const key = objectKeyOf(id, number)
  await store.put(key, { bytes, contentType: 'application/gzip' })
  const description = { key, size: bytes.length, sha256: digestOf(bytes), counts: counts.all(), next }
  await putJson(store, descriptionKeyOf(id, number), description)
  return description
}
