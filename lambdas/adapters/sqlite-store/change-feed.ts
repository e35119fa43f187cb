/** The version log as a change feed. Each instance has its own connection, so every thread can create one. */
import type { DatabaseSync } from 'node:sqlite'
import type { Change, ChangeFeed, FeedPart, FeedTenants } from '../../ports/store/change-feed.ts'
import type { ResourceVersion, VersionKey } from '../../ports/store/resource-store.ts'
import { ContentReader } from './bodies/contents.ts'
import { runRead } from './damage.ts'
import { RecentKeys } from './keys/recent-keys.ts'
import { VersionReader } from './reading/version-reader.ts'
import { committedCondition, RANGE_CHECKED_COLUMNS, runInSnapshot, type VersionRow, versionForIndex, versionOf } from './rows.ts'
import { openForReading } from './schema.ts'

const HEAVIEST = 64_000
/** Page cache in kB. It is small, because the log is read once from beginning to end. */
const CACHE = 2_000
/** Maximum positions that one call of `changesOf` examines. They take about 10 ms, during which the calling thread is blocked. */
const WINDOW = 10_000

const CHANGES = `SELECT ${RANGE_CHECKED_COLUMNS} FROM version v JOIN kind t ON t.kind = v.kind WHERE v.seq > :after AND ${committedCondition('v')}`
/**
 * Conditions on the tenant. The plus sign stops SQLite from using an index by kind: it would then sort all versions of the tenant.
 * https://www.sqlite.org/optoverview.html
 */
const KINDS = {
  only: '+v.kind IN (SELECT kind FROM kind WHERE tenant = :tenants)',
  except: '+v.kind NOT IN (SELECT kind FROM kind WHERE tenant IN (SELECT value FROM json_each(:tenants)))',
}

export class SqliteChangeFeed implements ChangeFeed {
  readonly #db: DatabaseSync
  readonly #changes
  readonly #last
  readonly #others
  readonly #typed
  readonly #some
  readonly #tenants
  readonly #recent: RecentKeys
  readonly #versions: VersionReader
  readonly #contents: ContentReader

  constructor(file: string) {
    this.#db = openForReading(file, { cache: CACHE })
    this.#recent = new RecentKeys(this.#db)
    this.#contents = new ContentReader(this.#db)
    this.#versions = new VersionReader(this.#db, this.#recent, { as: versionForIndex })
    this.#changes = this.#rows(`${CHANGES} ORDER BY v.seq LIMIT :limit`)
    this.#last = this.#rows(`SELECT max(v.seq) FROM version v WHERE ${committedCondition('v')}`)
    this.#others = this.#rows('SELECT 1 FROM kind WHERE tenant <> :tenant LIMIT 1')
    this.#typed = this.#rows('SELECT tenant FROM kind WHERE type = :type ORDER BY tenant')
    this.#tenants = this.#rows(
      'SELECT DISTINCT tenant FROM kind WHERE kind IN (SELECT kind FROM version WHERE seq > :after AND seq <= :upTo)',
    )
    const someOf = (kinds: string) => this.#rows(`${CHANGES} AND v.seq <= :end AND ${kinds} ORDER BY v.seq LIMIT :limit`)
    this.#some = { only: someOf(KINDS.only), except: someOf(KINDS.except) }
  }

  changes(after: number, limit: number): readonly Change[] {
    return runRead(() => this.#taken(this.#changes.iterate({ after, limit }), limit).changes)
  }

  changesOf(tenants: FeedTenants, after: number, limit: number): FeedPart {
    return runRead(() => runInSnapshot(this.#db, () => this.#partOf(tenants, after, limit)))
  }

  tenantsIn(after: number, upTo: number): readonly string[] {
    return runRead(() =>
      Array.from(this.#tenants.iterate({ after, upTo }) as Iterable<unknown> as Iterable<readonly [string]>, ([tenant]) => tenant),
    )
  }

  /**
   * Whether the store has a kind of another tenant. That is so if another tenant ever had a version, or if its first commit was rejected.
   * Throws the fault `store-damaged` if the store cannot be read.
   */
  hasOthersThan(tenant: string): boolean {
    return runRead(() => this.#others.get({ tenant }) !== undefined)
  }

  /** Returns the tenants that have a kind of this type, in ascending order. Throws the fault `store-damaged` like hasOthersThan. */
  tenantsOf(type: string): readonly string[] {
    return runRead(() => (this.#typed.all({ type }) as unknown as readonly (readonly [string])[]).map(([tenant]) => tenant))
  }

  version(key: VersionKey): ResourceVersion | undefined {
    return runRead(() =>
      runInSnapshot(this.#db, () => {
        this.#recent.refresh()
        return this.#versions.version(key)
      }),
    )
  }

  close(): void {
    this.#db.close()
  }

  #rows(sql: string) {
    const statement = this.#db.prepare(sql)
    statement.setReturnArrays(true)
    return statement
  }

  #partOf(tenants: FeedTenants, after: number, limit: number): FeedPart {
    const [last] = this.#last.get({}) as unknown as readonly [number | null]
    const end = Math.min(after + WINDOW, Math.max(after, last ?? 0))
    const rows =
      'only' in tenants
        ? this.#some.only.iterate({ after, limit, end, tenants: tenants.only })
        : this.#some.except.iterate({ after, limit, end, tenants: JSON.stringify(tenants.except) })
    const { changes, isCut } = this.#taken(rows, limit)
    return { changes, upTo: isCut ? changes.at(-1)!.position : end }
  }

  /**
   * Converts rows until there are `limit` of them, or until their bodies exceed HEAVIEST bytes × `limit`. `isCut`: one of these limits was
   * reached, so more rows may follow.
   */
  #taken(rows: Iterable<unknown>, limit: number): { readonly changes: readonly Change[]; readonly isCut: boolean } {
    const changes: Change[] = []
    let weight = 0
    for (const row of rows as Iterable<VersionRow>) {
      const version = versionOf(row, this.#contents, versionForIndex)
      changes.push({ position: row[0], version })
      weight += version.body.length
      if (weight > limit * HEAVIEST) return { changes, isCut: true }
    }
    return { changes, isCut: changes.length >= limit }
  }
}
