/**
 * Rows in a small SQLite file that the serving thread and the export thread open at the same time. Values are small and changes are rare,
 * so each thread writes its own. It blocks during a flush, and at most BLOCKED milliseconds for the other thread. Writes of one turn of the
 * event loop share a flush.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { setImmediate as nextTurn, setTimeout as wait } from 'node:timers/promises'
import { MachineFault } from '../../ports/faults.ts'
import { changeValue } from '../../ports/rows/change.ts'
import { checkRowKey, checkRowOwner, textOfRow } from '../../ports/rows/row-limits.ts'
import type { Rows } from '../../ports/rows/rows.ts'
import { openSqliteFile } from '../sqlite-file/open-file.ts'
import { isBusy, toFileFault } from '../sqlite-file/sqlite-errors.ts'

/** Application id: the characters `FHIX`. */
const APPLICATION_ID = 0x46484958
const SCHEMA = 'CREATE TABLE row (shelf TEXT NOT NULL, name TEXT NOT NULL, json TEXT NOT NULL, PRIMARY KEY (shelf, name))'
const FORMAT = { applicationId: APPLICATION_ID, schemaVersion: 1, schema: SCHEMA }

const READ = 'SELECT json FROM row WHERE shelf = ? AND name = ?'
const LIST = 'SELECT name, json FROM row WHERE shelf = ? AND name > ? ORDER BY name LIMIT ?'
const ADD = 'INSERT INTO row (shelf, name, json) VALUES (?, ?, ?) ON CONFLICT DO NOTHING'
/** Replaces a row if its text equals the text that was read, even if the row has changed back and forth in between. */
const REPLACE = 'UPDATE row SET json = ? WHERE shelf = ? AND name = ? AND json = ?'
const REMOVE = 'DELETE FROM row WHERE shelf = ? AND name = ?'
const REMOVE_SOME = 'DELETE FROM row WHERE rowid IN (SELECT rowid FROM row WHERE shelf = ? LIMIT ?)'

/** Maximum rows that are read or removed in one statement, because the thread must not be blocked for long. */
const SOME = 100
/**
 * Milliseconds. BLOCKED: wait for another writer that blocks the thread. PAUSE: maximum pause between two attempts. PATIENCE: time after
 * which a write or read fails.
 */
const [BLOCKED, PAUSE, PATIENCE] = [5, 5, 10_000]

type Row = { readonly name: string; readonly json: string }

/** Statement that is executed at the next flush. `resolve`: receives the number of changed rows. */
type QueuedWrite = {
  readonly sql: string
  readonly values: readonly (string | number)[]
  readonly resolve: (changes: number) => void
  readonly reject: (error: unknown) => void
}

export class SqliteRows implements Rows {
  readonly #file: string
  readonly #db: DatabaseSync
  readonly #statements = new Map<string, StatementSync>()
  readonly #queued: QueuedWrite[] = []

  /** `file`: created if missing. Throws UnusableFileError if it belongs to another program or a newer version, or is damaged. */
  constructor(file: string) {
    this.#file = file
    this.#db = openSqliteFile(file, FORMAT)
    this.#db.exec(`PRAGMA busy_timeout = ${BLOCKED}; PRAGMA journal_size_limit = 4000000`)
  }

  close(): void {
    if (!this.#db.isOpen) return
    // The flush makes its first attempt before it returns.
    void this.#flush()
    this.#db.close()
  }

  async read<Value>(owner: string, name: string): Promise<Value | undefined> {
    checkRowKey(owner, name)
    return this.#parsed<Value>(await this.#textOf(owner, name))
  }

  async change<Value>(owner: string, name: string, change: (value: Value | undefined) => Value | undefined): Promise<Value | undefined> {
    checkRowKey(owner, name)
    const row = {
      read: async () => {
        const text = await this.#textOf(owner, name)
        return { text, value: this.#parsed<Value>(text) }
      },
      write: async (value: Value | undefined, { text }: { readonly text: string | undefined }) => {
        const after = textOfRow(value)
        const written = text === undefined ? this.#write(ADD, owner, name, after) : this.#write(REPLACE, after, owner, name, text)
        return (await written) > 0
      },
      // No pause: an attempt fails only if another change has succeeded.
      pause: async () => undefined,
    }
    return changeValue(row, (value) => {
      const after = change(value)
      return after === undefined ? value : after
    })
  }

  async *list<Value>(owner: string): AsyncGenerator<{ readonly name: string; readonly value: Value }> {
    checkRowOwner(owner)
    for (let after: string | undefined = ''; after !== undefined; ) {
      const rows: readonly Row[] = await this.#asked(() => this.#statement(LIST).all(owner, after!, SOME) as Row[])
      for (const { name, json } of rows) yield { name, value: this.#parsed<Value>(json)! }
      after = rows[SOME - 1]?.name
    }
  }

  async remove(owner: string, name?: string): Promise<void> {
    if (name !== undefined) {
      checkRowKey(owner, name)
      await this.#write(REMOVE, owner, name)
      return
    }
    checkRowOwner(owner)
    while ((await this.#write(REMOVE_SOME, owner, SOME)) === SOME) await wait()
  }

  async #textOf(owner: string, name: string): Promise<string | undefined> {
    return (await this.#asked(() => this.#statement(READ).get(owner, name) as Row | undefined))?.json
  }

  /** Executes a statement together with the others of this turn. Returns the number of changed rows after the flush. */
  #write(sql: string, ...values: readonly (string | number)[]): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#queued.push({ sql, values, resolve, reject })
      if (this.#queued.length === 1) void nextTurn().then(() => this.#flush())
    })
  }

  async #flush(): Promise<void> {
    const writes = this.#queued.splice(0)
    if (writes.length === 0) return
    try {
      const changes = await this.#asked(() => this.#execute(writes))
      for (const [i, { resolve }] of writes.entries()) resolve(changes[i]!)
    } catch (error) {
      for (const { reject } of writes) reject(error)
    }
  }

  /** Executes all statements, or none. Returns the number of changed rows of each. */
  #execute(writes: readonly QueuedWrite[]): readonly number[] {
    const run = ({ sql, values }: QueuedWrite): number => Number(this.#statement(sql).run(...values).changes)
    if (writes.length === 1) return writes.map(run)
    this.#db.exec('BEGIN IMMEDIATE')
    try {
      const changes = writes.map(run)
      this.#db.exec('COMMIT')
      return changes
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK')
      throw error
    }
  }

  /** Executes a statement, and repeats it while another thread writes. Throws the fault `overloaded` after PATIENCE. */
  async #asked<Answer>(ask: () => Answer): Promise<Answer> {
    for (const began = performance.now(); ; await wait(PAUSE * Math.random())) {
      try {
        return ask()
      } catch (error) {
        // guard: row-write-repeats-only-while-busy
        if (!isBusy(error) || performance.now() - began > PATIENCE) throw toFileFault(error, { file: this.#file, kept: 'exports' })
      }
    }
  }

  #parsed<Value>(text: string | undefined): Value | undefined {
    try {
      return text === undefined ? undefined : (JSON.parse(text) as Value)
    } catch (error) {
      throw new MachineFault('store-damaged', `${this.#file} is damaged`, { cause: error })
    }
  }

  #statement(sql: string): StatementSync {
    const known = this.#statements.get(sql) ?? this.#db.prepare(sql)
    this.#statements.set(sql, known)
    return known
  }
}
