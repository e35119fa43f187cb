/**
 * The versions of a type that were current at an instant, shard by shard, newest first. Each stands in one place of the index: as a head,
 * or as a copy superseded since. So every place is visited once, and no resource comes twice.
 */

import { setTimeout as wait } from 'node:timers/promises'
import type { ResourceVersion, ScanPage, ScanRequest } from '../../ports/resource-store.ts'
import { segmentOf } from '../../ports/segment-of.ts'
import { readEntries } from './current-at.ts'
import type { Dynamo } from './dynamo.ts'
import { PAGE_WEIGHT } from './history.ts'
import type { Reader } from './reader.ts'
import { behind, instantPlace } from './table.ts'
import type { Types } from './types.ts'
import { distinct, type Entry, readSource, type Source } from './windows.ts'

/** Index entries looked at for one page, so that a sparse segment ends as well. */
const ENTRIES = 4_000

/** Where a scan goes on: the shard, of how many there were when it began, and the place after which. */
type Cursor = readonly [shard: number, of: number, after: string]

export type ScanOptions = {
  readonly dynamo: Dynamo
  readonly reader: Reader
  readonly types: Types
  /** How much later the index may show a copy than it stops showing the head: ms. */
  readonly settleTime: number
}

export async function scanPage(options: ScanOptions, request: ScanRequest): Promise<ScanPage> {
  const { tenant, type, asOf, since = -1, cursor, limit, segment } = request
  const start = instantPlace(asOf)
  const begin = async (): Promise<Cursor> => [0, (await options.types.sources(tenant, type)).length, start]
  const [shard, of, from] = cursor === undefined ? await begin() : (JSON.parse(cursor) as Cursor)
  if (of === 0 || asOf < 0) return { versions: [] }
  const size = Math.min(ENTRIES, limit * segment.of)
  const { entries, end } = await window(options, { tenant, type, shard }, { from, to: behind(instantPlace(since + 1)) }, size)
  const mine = entries.filter(({ id }) => segmentOf(id, segment.of) === segment.index)
  const { versions, last } = await read(options.reader, mine, asOf, limit)
  const next = nextOf(last === undefined ? end : behind(last.gsk), shard, of, start)
  return { versions, ...(next === undefined ? {} : { cursor: JSON.stringify(next) }) }
}

/** All entries up to a place, of heads and of copies. No `end`: to the end. */
async function window(
  { dynamo, settleTime }: ScanOptions,
  source: Source,
  range: { readonly from: string; readonly to: string },
  size: number,
): Promise<{ readonly entries: readonly Entry[]; readonly end?: string }> {
  const heads = await readSource(dynamo, 'c', source, range, size)
  await wait(settleTime)
  const to = heads.isAll ? range.to : behind(heads.entries.at(-1)!.gsk)
  const past = await readSource(dynamo, 'h', source, { ...range, to }, size)
  const end = past.isAll ? (heads.isAll ? undefined : to) : behind(past.entries.at(-1)!.gsk)
  const within = [...heads.entries, ...past.entries].filter(({ gsk }) => end === undefined || gsk < end)
  const entries = distinct(within).toSorted((a, b) => (a.gsk < b.gsk ? -1 : 1))
  return { entries, ...(end === undefined ? {} : { end }) }
}

/** Live versions up to the limit; `last`: the entry it ended at before all were read. */
async function read(
  reader: Reader,
  entries: readonly Entry[],
  asOf: number,
  limit: number,
): Promise<{ readonly versions: readonly ResourceVersion[]; readonly last?: Entry }> {
  const versions: ResourceVersion[] = []
  let weight = 0
  for await (const { key, content } of readEntries(reader, entries, asOf, limit)) {
    if (content.del === true) continue
    const version = await reader.version(key, content)
    versions.push(version)
    weight += version.body.length
    if ((versions.length === limit || weight > PAGE_WEIGHT) && key !== entries.at(-1)) return { versions, last: key }
  }
  return { versions }
}

function nextOf(after: string | undefined, shard: number, of: number, start: string): Cursor | undefined {
  if (after !== undefined) return [shard, of, after]
  return shard + 1 < of ? [shard + 1, of, start] : undefined
}
