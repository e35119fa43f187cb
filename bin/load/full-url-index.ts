/** Index of the fullUrls of all files of a load, because other files may refer to an entry. */
import { DatabaseSync } from 'node:sqlite'
import type { ReferenceMatches } from './reference-lookup.ts'

/** Adds a fullUrl. The same hospital may be in many files. An empty key marks a fullUrl of several resources. */
const ADD = "INSERT INTO entry VALUES (?, ?) ON CONFLICT DO UPDATE SET key = '' WHERE key <> excluded.key"

/** Stores any number of fullUrls in little memory. SQLite writes a larger cache to a temporary file, and removes the file. */
export class FullUrlIndex implements Disposable {
  /** https://www.sqlite.org/inmemorydb.html#temporary_databases */
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

  /** Returns the resource that a URL refers to. The result is valid once all files have been read. */
  meaning(url: string): ReferenceMatches {
    const found = this.#find.get(url) as { readonly key: string } | undefined
    if (found === undefined) return { keys: [], fault: 'no resource of this load has this fullUrl' }
    return found.key === '' ? { keys: [], fault: 'several resources of this load have this fullUrl' } : { keys: [found.key] }
  }

  [Symbol.dispose](): void {
    this.#db.close()
  }
}
