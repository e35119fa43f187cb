/**
 * Objects of a backup of all versions, below one prefix:
 * - `backup.json` names the backup and its instant. It is written first.
 * - `objects/ID/N.ndjson.gz` has one version per line. The versions of a resource are adjacent, in ascending order.
 * - `objects/ID/N.json` describes that object, and the position after it, at which an interrupted backup continues.
 * - `manifest.json` is written last. It names all objects, with checksums and counts.
 * ID is that of the backup. So two backups that began in one place at the same time do not replace each other's objects.
 */
import { createHash } from 'node:crypto'
import type { BlobStore } from '../../ports/blobs/blob-store.ts'
import type { ResourceVersion } from '../../ports/store/resource-store.ts'

/** Where the objects of a backup are. `location`: address of the prefix, in messages. */
export type BackupStore = Pick<BlobStore, 'put' | 'get' | 'list'> & { readonly location: string }

export const BACKUP_FORMAT = 1

export const START_KEY = 'backup.json'
export const MANIFEST_KEY = 'manifest.json'
export const objectsPrefixOf = (backup: string): string => `objects/${backup}/`
export const objectKeyOf = (backup: string, number: number): string => `${objectsPrefixOf(backup)}${nameOf(number)}.ndjson.gz`
export const descriptionKeyOf = (backup: string, number: number): string => `${objectsPrefixOf(backup)}${nameOf(number)}.json`
const nameOf = (number: number): string => String(number).padStart(8, '0')

/** `source`: stage or data folder that the backup copies. `instant`: time up to which it has all versions, in milliseconds since 1970. */
export type BackupStart = { readonly format: number; readonly id: string; readonly source: string; readonly instant: number }

/** Versions of one type of a tenant. `resources`: number of resources whose latest version is among them; `deletions`: deletions among all versions. */
export type TypeCount = {
  readonly tenant: string
  readonly type: string
  readonly versions: number
  readonly resources: number
  readonly deletions: number
}

export type BackupObject = {
  readonly key: string
  /** Bytes of the object. */
  readonly size: number
  readonly sha256: string
  readonly counts: readonly TypeCount[]
}

export type Manifest = BackupStart & { readonly objects: readonly BackupObject[]; readonly counts: readonly TypeCount[] }

/**
 * `missing`: an object does not exist. `checksum`: it has other bytes than were written. `count`: it has other versions than the manifest
 * says. `format`: it cannot be read by this release. `occupied`: the place is in use by something else.
 */
export type BackupFaultCode = 'missing' | 'checksum' | 'count' | 'format' | 'occupied'

/** Backup that cannot be made or restored. The message begins with the place and ends with the code. */
export class BackupFault extends Error {
  readonly code: BackupFaultCode

  constructor(code: BackupFaultCode, place: string, reason: string) {
    super(`${place}: ${reason} (${code})`)
    this.code = code
  }
}

export const placeOf = ({ location }: BackupStore, key: string): string => `${location}/${key}`

export const digestOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

export const putJson = (store: BackupStore, key: string, value: unknown): Promise<void> =>
  store.put(key, { bytes: Buffer.from(`${JSON.stringify(value)}\n`), contentType: 'application/json' })

/** Returns undefined if the object does not exist. Throws a BackupFault if it is not JSON. */
export async function readJson<Value>(store: BackupStore, key: string): Promise<Value | undefined> {
  const blob = await store.get(key)
  if (blob === undefined) return undefined
  try {
    return JSON.parse(Buffer.from(blob.bytes).toString()) as Value
  } catch {
    throw new BackupFault('format', placeOf(store, key), 'is not JSON')
  }
}

/** Throws a BackupFault if another release wrote the object in a format that this one does not know. */
export function checkFormat(store: BackupStore, key: string, { format }: BackupStart): void {
  if (format !== BACKUP_FORMAT) throw new BackupFault('format', placeOf(store, key), `has the unknown format ${format}`)
}

const LINE_END = 0x0a
/** Member before the body. Within the strings of the members before it, quotation marks are escaped. So its first occurrence is the member. */
const BODY = Buffer.from(',"resource":')
const ENCODED_BODY = ',"base64":"'

/** Line of a version. `isLatest`: whether it is the latest version of its resource in the backup. */
export type VersionLine = { readonly version: ResourceVersion; readonly isLatest: boolean }

/** Returns the line with its end. The bytes of the body are in it unchanged, unless they contain a line end. */
export function encodeLine({ version: { body, deleted, ...facts }, isLatest }: VersionLine): Buffer {
  const head = JSON.stringify({ ...facts, ...(deleted ? { deleted } : {}), ...(isLatest ? { isLatest } : {}) }).slice(0, -1)
  if (deleted) return Buffer.from(`${head}}\n`)
  // guard: backup-line-without-line-end
  if (body.includes(LINE_END)) return Buffer.from(`${head}${ENCODED_BODY}${Buffer.from(body).toString('base64')}"}\n`)
  return Buffer.concat([Buffer.from(head), BODY, body, Buffer.from('}\n')])
}

type Facts = Omit<ResourceVersion, 'body' | 'deleted'> & { readonly deleted?: true; readonly isLatest?: true; readonly base64?: string }

export function decodeLine(line: Uint8Array): VersionLine {
  const bytes = Buffer.from(line.buffer, line.byteOffset, line.byteLength)
  const at = bytes.indexOf(BODY)
  const {
    base64,
    deleted = false,
    isLatest = false,
    ...facts
  } = JSON.parse(at < 0 ? bytes.toString() : `${bytes.toString('utf8', 0, at)}}`) as Facts
  const body = base64 !== undefined ? Buffer.from(base64, 'base64') : at < 0 ? new Uint8Array() : bytes.subarray(at + BODY.length, -1)
  return { version: { ...facts, deleted, body: new Uint8Array(body) }, isLatest }
}

export function* linesIn(bytes: Uint8Array): Generator<VersionLine> {
  for (let from = 0; from < bytes.length; ) {
    const end = bytes.indexOf(LINE_END, from)
    if (end < 0) throw new RangeError('the last line has no end')
    yield decodeLine(bytes.subarray(from, end))
    from = end + 1
  }
}

/** Counts of versions by tenant and type. */
export class VersionCounts {
  readonly #counts = new Map<string, TypeCount>()

  add({ version: { tenant, type, deleted }, isLatest }: VersionLine): void {
    this.addAll([{ tenant, type, versions: 1, resources: isLatest ? 1 : 0, deletions: deleted ? 1 : 0 }])
  }

  addAll(counts: readonly TypeCount[]): void {
    for (const { tenant, type, versions, resources, deletions } of counts) {
      const name = JSON.stringify([tenant, type])
      const before = this.#counts.get(name) ?? { versions: 0, resources: 0, deletions: 0 }
      this.#counts.set(name, {
        ...{ tenant, type, versions: before.versions + versions },
        ...{ resources: before.resources + resources, deletions: before.deletions + deletions },
      })
    }
  }

  all(): readonly TypeCount[] {
    return [...this.#counts.values()]
  }

  total(): TotalCount {
    let [versions, resources, deletions] = [0, 0, 0]
    for (const each of this.#counts.values()) {
      versions += each.versions
      resources += each.resources
      deletions += each.deletions
    }
    return { versions, resources, deletions }
  }
}

/** Counts of all tenants and types. */
export type TotalCount = Omit<TypeCount, 'tenant' | 'type'>

export const describeCounts = ({ versions, resources, deletions }: TotalCount): string =>
  `${counted(versions, 'version')} of ${counted(resources, 'resource')}, ${counted(deletions, 'deletion')}`

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`

export function totalOf(counts: readonly TypeCount[]): TotalCount {
  const all = new VersionCounts()
  all.addAll(counts)
  return all.total()
}

/** Returns the first type whose counts differ, as text, or undefined if all are equal. */
export function differenceOf(expected: readonly TypeCount[], found: readonly TypeCount[]): string | undefined {
  const none = { versions: 0, resources: 0, deletions: 0 }
  const within = (counts: readonly TypeCount[], { tenant, type }: TypeCount) =>
    describeCounts(counts.find((each) => each.tenant === tenant && each.type === type) ?? none)
  const differing = [...expected, ...found].find((each) => within(expected, each) !== within(found, each))
  return (
    differing &&
    `${differing.type} of tenant ${differing.tenant} has ${within(found, differing)} in place of ${within(expected, differing)}`
  )
}
