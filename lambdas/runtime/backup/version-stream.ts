/**
 * Reads all versions of a store up to an instant, resource by resource. Each resource comes from a scan, in its state at the instant, with
 * its earlier versions before it. So no later write can change or remove what is read.
 */
import { Readable } from 'node:stream'
import { resourceTypes } from '../../fhir/resource-types.ts'
import { readInParts } from '../../interactions/searching/bounded-reads.ts'
import { isFault, MachineFault } from '../../ports/faults.ts'
import type { ResourceReader, ResourceVersion, VersionKey } from '../../ports/store/resource-store.ts'
import type { SettledVersions } from '../../ports/store/settled-versions.ts'
import type { StoredTenants } from '../../ports/store/tenants.ts'
import type { VersionLine } from './backup-format.ts'

export type VersionSource = Pick<ResourceReader, 'scan' | 'versions'> & SettledVersions & StoredTenants

/** Position after a version. `lines`: versions that were read since `cursor` of the scan. */
export type Position = { readonly tenant: string; readonly type: string; readonly cursor?: string; readonly lines: number }

export type StreamOptions = {
  readonly source: VersionSource
  readonly instant: number
  readonly after?: Position
  readonly wait: (ms: number) => Promise<unknown>
}

/** Versions of a page of a scan. */
const PAGE = 200
/** Types that are scanned at the same time, and pages that are read ahead of each. A scan waits for seconds, so small types would take long. */
const [SCANS, PAGES_AHEAD] = [8, 4]
/** Milliseconds between two checks whether the instant is settled, and the maximum of checks. A tenant is usually settled after 15 s. */
const [SETTLE_PAUSE, SETTLE_CHECKS] = [1_000, 600]

type TypePage = { readonly tenant: string; readonly type: string; readonly cursor?: string; readonly versions: readonly ResourceVersion[] }

/** Yields the versions after a position, each with the position after it. */
export async function* versionsAfter(options: StreamOptions): AsyncGenerator<VersionLine & { readonly next: Position }> {
  const { source, after } = options
  let toSkip = after?.lines ?? 0
  for await (const { versions, ...place } of inOrder(scansOf(options))) {
    let lines = 0
    for await (const line of withHistories(source, versions)) {
      lines++
      // The pages of two scans may end at different versions, so the skipped ones may be in several.
      if (toSkip > 0) toSkip--
      else yield { ...line, next: { ...place, lines } }
    }
  }
}

/** Yields a function for each type of each tenant that begins its scan. */
async function* scansOf(options: StreamOptions): AsyncGenerator<() => AsyncIterable<TypePage>> {
  const { source, instant, after } = options
  let isReached = after === undefined
  for await (const tenant of source.tenants()) {
    if (!isReached && tenant !== after?.tenant) continue
    await settle(options, tenant)
    for (const type of resourceTypes) {
      const isFirst = !isReached && type === after?.type
      isReached ||= isFirst
      if (isReached)
        yield () => pagesOf(source, { tenant, type, ...(isFirst && after?.cursor !== undefined ? { cursor: after.cursor } : {}) }, instant)
    }
  }
}

/** Waits until no version up to the instant can appear any more. */
async function settle({ source, instant, wait }: StreamOptions, tenant: string): Promise<void> {
  for (let check = 0; check < SETTLE_CHECKS; check++) {
    // guard: backup-waits-for-open-writes
    if (await source.settled(tenant, instant)) return
    await wait(SETTLE_PAUSE)
  }
  throw new MachineFault(
    'writes-hidden',
    'Writes from before the start of the backup are not visible yet: repeat the command, which continues',
  )
}

async function* pagesOf(
  source: VersionSource,
  { cursor, ...place }: { readonly tenant: string; readonly type: string; readonly cursor?: string },
  asOf: number,
): AsyncGenerator<TypePage> {
  let from = cursor
  const request = { ...place, asOf, deletions: true, tellsDamaged: true, limit: PAGE, ...(cursor === undefined ? {} : { cursor }) }
  for await (const { versions, damaged, cursor: next } of source.scan(request)) {
    // guard: backup-has-no-damaged-version
    if (damaged?.[0] !== undefined) throw damagedAt(damaged[0], damaged[0].damage)
    if (versions.length > 0) yield { ...place, ...(from === undefined ? {} : { cursor: from }), versions }
    from = next
  }
}

/** Reads several iterables ahead, and yields their items in the order of the iterables. */
async function* inOrder<T>(begins: AsyncIterator<() => AsyncIterable<T>>): AsyncGenerator<T> {
  const open: Readable[] = []
  try {
    for (let isAll = false; ; ) {
      while (!isAll && open.length < SCANS) {
        const { done, value } = await begins.next()
        if (done === true) isAll = true
        else open.push(readingAhead(value()))
      }
      const first = open[0]
      if (first === undefined) return
      yield* first as AsyncIterable<T>
      open.shift()
    }
  } finally {
    for (const each of open) each.destroy()
  }
}

function readingAhead<T>(items: AsyncIterable<T>): Readable {
  const stream = Readable.from(items, { objectMode: true, highWaterMark: PAGES_AHEAD })
  // The error is thrown where the items are read. Without a listener it would end the process before.
  stream.on('error', () => undefined)
  stream.read(0)
  return stream
}

/** Yields all versions of the resources of a page, those of each resource in ascending order. */
async function* withHistories(source: VersionSource, latest: readonly ResourceVersion[]): AsyncGenerator<VersionLine> {
  const keys = latest.flatMap(({ tenant, type, id, versionId }) =>
    Array.from({ length: versionId - 1 }, (_, i) => ({ tenant, type, id, versionId: i + 1 })),
  )
  const earlier = found(source, keys)
  for (const version of latest) {
    for (let n = 1; n < version.versionId; n++) yield { version: (await earlier.next()).value as ResourceVersion, isLatest: false }
    yield { version, isLatest: true }
  }
}

async function* found(source: VersionSource, keys: readonly VersionKey[]): AsyncGenerator<ResourceVersion> {
  for await (const part of readInParts(keys, (some, room) => located(source, some, room)))
    for (const [key, version] of part) {
      if (version === undefined) throw damagedAt(key, new Error('it is missing'))
      yield version
    }
}

/** Reads the versions. If one is damaged, reads each alone, so that the error names it. */
async function located(source: VersionSource, keys: readonly VersionKey[], room: number): ReturnType<VersionSource['versions']> {
  try {
    return await source.versions(keys, room)
  } catch (error) {
    if (!isFault(error, 'store-damaged')) throw error
    if (keys.length === 1) throw damagedAt(keys[0]!, error)
    for (const key of keys) await located(source, [key], room)
    throw error
  }
}

const damagedAt = ({ tenant, type, id, versionId }: VersionKey, cause: Error): MachineFault =>
  new MachineFault(
    'store-damaged',
    `Version ${versionId} of ${type}/${id} of tenant ${tenant} cannot be saved: ${cause.message} (store-damaged)`,
    { cause },
  )
