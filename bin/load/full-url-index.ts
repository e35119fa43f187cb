/** Index of the fullUrls of all files of a load, because other files may refer to an entry. */
import { DatabaseSync } from 'node:sqlite'
import type { ReferenceMatches } from './reference-lookup.ts'

/**
 * Adds a fullUrl, which many files may repeat for the same resource. If it already belongs to another resource, the key becomes empty,
 * which marks the fullUrl as ambiguous.
 */
const ADD = "INSERT INTO entry VALUES (?, ?) ON CONFLICT DO UPDATE SET key = '' WHERE key <> excluded.key"

/** Stores any number of fullUrls in little memory. Beyond its cache of 16 MB SQLite writes to a temporary file, which it removes. */
export class FullUrlIndex implements Disposable {
  /** Temporary database: https://www.sqlite.org/inmemorydb.html#temporary_databases */
  readonly #db = new DatabaseSync('')
  readonly #add
  readonly #find

  constructor() {
    this.#db.exec('PRAGMA cache_size = -16000; CREATE TABLE entry (url TEXT PRIMARY KEY, key TEXT NOT NULL) WITHOUT ROWID; BEGIN')
    this.#add = this.#db.prepare(ADD)
    this.#find = this.#db.prepare('SELECT key FROM entry WHERE url = ?')
  }

  /** Adds a fullUrl. `key`: Type/id of the resource that is loaded. */
  add(url: string, key: string): void {
    this.#add.run(url, key)
  }

  /**
   * Returns the resource with the fullUrl, or the reason why none is determined. Call it only after all files have been read: before that
   * the result may change.
   */
  meaning(url: string): ReferenceMatches {
    const found = this.#find.get(url) as { readonly key: string } | undefined
    if (found === undefined) return { keys: [], fault: 'no resource of this load has this fullUrl' }
    return found.key === '' ? { keys: [], fault: 'several resources of this load have this fullUrl' } : { keys: [found.key] }
  }

  [Symbol.dispose](): void {
    this.#db.close()
  }
}
