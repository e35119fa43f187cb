/** The fullUrls of all files of a load: an entry may be referred to from another file. */
import { DatabaseSync } from 'node:sqlite'
import type { ReferenceMatches } from './reference-lookup.ts'

/** `INSERT` once for a hospital that is in many files; the key is empty where the URL stands for several resources. */
const ADD = "INSERT INTO entry VALUES (?, ?) ON CONFLICT DO UPDATE SET key = '' WHERE key <> excluded.key"

/** Holds any number of them in little memory. SQLite writes a larger cache to a temporary file, and removes the file. */
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

  /** `key`: Type/id of the resource that is loaded. */
  add(url: string, key: string): void {
    this.#add.run(url, key)
  }

  /** Returns the resource that a URL means once all files have been read. */
  meaning(url: string): ReferenceMatches {
    const found = this.#find.get(url) as { readonly key: string } | undefined
    if (found === undefined) return { keys: [], fault: 'no resource of this load has this fullUrl' }
    return found.key === '' ? { keys: [], fault: 'several resources of this load have this fullUrl' } : { keys: [found.key] }
  }

  [Symbol.dispose](): void {
    this.#db.close()
  }
}
