/** The version log as a change feed, on a connection of its own: usable from any thread. */
import type { DatabaseSync } from 'node:sqlite'
import type { Change, ChangeFeed } from '../../ports/store/change-feed.ts'
import type { ResourceVersion, VersionKey } from '../../ports/store/resource-store.ts'
import { Contents } from './bodies/contents.ts'
import { reading } from './damage.ts'
import { RecentKeys } from './keys/recent-keys.ts'
import { VersionReader } from './reading/version-reader.ts'
import { ANY_COLUMNS, inSnapshot, isThere, type VersionRow, versionForIndex, versionOf } from './rows.ts'
import { openForReading } from './schema.ts'

const HEAVIEST = 64_000
/** kB: the log is read once, from its beginning to its end. */
const CACHE = 2_000

export class SqliteChangeFeed implements ChangeFeed {
  readonly #db: DatabaseSync
  readonly #changes
  readonly #recent: RecentKeys
  readonly #versions: VersionReader
  readonly #contents: Contents

  constructor(file: string) {
    this.#db = openForReading(file, { cache: CACHE })
    this.#recent = new RecentKeys(this.#db)
    this.#contents = new Contents(this.#db)
    this.#versions = new VersionReader(this.#db, this.#recent, { as: versionForIndex })
    this.#changes = this.#db.prepare(
      `SELECT ${ANY_COLUMNS} FROM version v JOIN kind t ON t.kind = v.kind WHERE v.seq > ? AND ${isThere('v')} ORDER BY v.seq LIMIT ?`,
    )
    this.#changes.setReturnArrays(true)
  }

  changes(after: number, limit: number): readonly Change[] {
    return reading(() => this.#changesAfter(after, limit))
  }

  version(key: VersionKey): ResourceVersion | undefined {
    return reading(() =>
      inSnapshot(this.#db, () => {
        this.#recent.refresh()
        return this.#versions.version(key)
      }),
    )
  }

  close(): void {
    this.#db.close()
  }

  #changesAfter(after: number, limit: number): readonly Change[] {
    const found: Change[] = []
    let weight = 0
    for (const row of this.#changes.iterate(after, limit) as unknown as Iterable<VersionRow>) {
      const version = versionOf(row, this.#contents, versionForIndex)
      found.push({ position: row[0], version })
      weight += version.body.length
      if (weight > limit * HEAVIEST) break
    }
    return found
  }
}
