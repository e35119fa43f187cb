/**
 * SharedRowsReader on items. n: number of the write. z: the value as deflated JSON. s: stamps of the rows, by group. Owners are divided among
 * groups by their hash. Each group has a partition key, so that no key serves all owners. An earlier release writes the root without s.
 */
import { promisify } from 'node:util'
import { inflateRaw } from 'node:zlib'
import { forEachInParallel } from '../../../ports/execution/parallel.ts'
import type { OwnedValue, RowName, RowStamps, SharedRoot, SharedRowsReader, SharedSummary } from '../../../ports/rows/shared-rows.ts'
import { hashOf } from '../../../ports/store/fnv-hash.ts'
import type { Item, Key, TableClient } from '../table-client.ts'

const GROUPS = 64
/** Groups that `list` reads at the same time. */
const AT_ONCE = 16
/** Stamp of the groups without one of their own. */
export const FLOOR = 'f'
/** Maximum characters of JSON in the cache of a process. The values take several times as many bytes of memory. */
const MAX_CACHED = 16_000_000
/** Characters that count for a row in addition to its JSON, also if it is absent. */
const ROW_SIZE = 200

export const groupOf = (owner: string): number => hashOf(owner) % GROUPS

/** Sort keys of the root and of the summary. */
export const ROOT = 'S'
export const SUMMARY = 'R'

export const rowKeyOf = (name: string, { kind, owner }: RowName): Key => ({ pk: `${name}#${groupOf(owner)}`, sk: `${kind}#${owner}` })

async function textOf(item: Item): Promise<string> {
  return (await promisify(inflateRaw)(item.z as Uint8Array)).toString()
}

const readValue = async (item: Item): Promise<unknown> => JSON.parse(await textOf(item))

/** `at`: number of the write that it was read after. `size`: characters of its JSON. */
type CachedRow = { readonly at: number; readonly value: unknown; readonly size: number }

/** Reads the summary of a value as `SharedRowsReader.summary` does, without the code that reads rows. */
export async function readSummary<Summary>(dynamo: TableClient, name: string): Promise<SharedSummary<Summary> | undefined> {
  const item = await dynamo.get({ pk: name, sk: SUMMARY })
  return item && { value: (await readValue(item)) as Summary, ...stampsOf(item) }
}

export class DynamoDbSharedRowsReader<Root, Summary> implements SharedRowsReader<Root, Summary> {
  protected readonly dynamo: TableClient
  protected readonly name: string
  readonly #initial: Root
  readonly #cached = new Map<string, CachedRow>()
  #size = 0

  /** `initial`: root before the first write. */
  constructor(dynamo: TableClient, name: string, initial: Root) {
    this.dynamo = dynamo
    this.name = name
    this.#initial = initial
  }

  async root(): Promise<SharedRoot<Root>> {
    const item = await this.dynamo.get({ pk: this.name, sk: ROOT })
    if (item === undefined) return { number: 0, value: this.#initial, stamps: {}, isForeign: false }
    return { value: (await readValue(item)) as Root, ...stampsOf(item), isForeign: item.s === undefined }
  }

  summary(): Promise<SharedSummary<Summary> | undefined> {
    return readSummary(this.dynamo, this.name)
  }

  async rows(names: readonly RowName[], since: RowStamps): Promise<readonly unknown[]> {
    const wanted = names.map((name) => ({ stamp: stampOf(since, name.owner), key: rowKeyOf(this.name, name) }))
    const known = wanted.map(({ key }) => this.#cached.get(key.sk))
    const missing = wanted.filter(({ stamp }, i) => (known[i]?.at ?? -1) < stamp)
    const read = new Map<string, CachedRow>()
    if (missing.length > 0) {
      const items = await this.dynamo.getAll(missing.map(({ key }) => key))
      for (const [i, item] of items.entries()) {
        const { sk } = missing[i]!.key
        read.set(sk, this.#keep(sk, since.number, item && (await textOf(item))))
      }
    }
    // A concurrent call may have removed rows from the cache since.
    const values = wanted.map(({ key }, i) => (read.get(key.sk) ?? known[i]!).value)
    // The first names of the map are those of the rows that were read the longest ago.
    for (const name of this.#cached.keys()) if (this.#size > MAX_CACHED) this.#drop(name)
    return values
  }

  async list(kind: string, page: number): Promise<readonly OwnedValue[]> {
    const found: OwnedValue[] = []
    await forEachInParallel(
      Array.from({ length: GROUPS }, (_, group) => group),
      AT_ONCE,
      async (group) => {
        const pages = this.dynamo.query({
          KeyConditionExpression: 'pk = :pk AND begins_with(sk, :sk)',
          ExpressionAttributeValues: { ':pk': `${this.name}#${group}`, ':sk': `${kind}#` },
          ConsistentRead: true,
          Limit: page,
        })
        for await (const item of pages) found.push({ owner: item.sk.slice(kind.length + 1), value: await readValue(item) })
      },
    )
    return found
  }

  #keep(name: string, at: number, text: string | undefined): CachedRow {
    this.#drop(name)
    const row = { at, size: (text?.length ?? 0) + ROW_SIZE, value: text && JSON.parse(text) }
    this.#cached.set(name, row)
    this.#size += row.size
    return row
  }

  #drop(name: string): void {
    this.#size -= this.#cached.get(name)?.size ?? 0
    this.#cached.delete(name)
  }
}

const stampsOf = ({ n, s }: Item): RowStamps => ({
  number: n as number,
  // An earlier release may have written between two writes of this one. No row counts as unchanged then.
  stamps: (s as RowStamps['stamps'] | undefined) ?? { [FLOOR]: n as number },
})

const stampOf = ({ stamps }: RowStamps, owner: string): number => stamps[groupOf(owner)] ?? stamps[FLOOR] ?? 0
