/** Clients and users in the grants file, changed by compare-and-set. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { changeValue } from '../../ports/rows/change.ts'
import { type Client, type Clients, isClientId } from '../../ports/rows/clients.ts'
import { readClient, writeClient } from '../../ports/rows/stored-client.ts'
import { isUserName, type User, type Users } from '../../ports/rows/users.ts'
import { runRead } from './read-retry.ts'
import type { GrantsWriter } from './writer.ts'

/**
 * Maximum attempts of a change. An attempt fails only if another change of the same entry succeeded, so this limit is hardly ever reached.
 */
const ATTEMPTS = 1_000

type Row = { readonly number: number; readonly json: string }

export type RegisteredParts<Entry> = {
  readonly kind: 'client' | 'user'
  readonly isName: (text: string) => boolean
  readonly nameOf: (entry: Entry) => string
  readonly read: (json: string) => Entry
  readonly write: (entry: Entry) => string
}

class SqliteRegistered<Entry> {
  readonly #db: DatabaseSync
  readonly #parts: RegisteredParts<Entry>
  readonly #writer: GrantsWriter
  readonly #one: StatementSync
  readonly #all: StatementSync

  constructor(db: DatabaseSync, writer: GrantsWriter, parts: RegisteredParts<Entry>) {
    this.#db = db
    this.#parts = parts
    this.#writer = writer
    this.#one = db.prepare(`SELECT number, json FROM ${parts.kind} WHERE name = ?`)
    this.#all = db.prepare(`SELECT number, json FROM ${parts.kind} ORDER BY name`)
  }

  async get(name: string): Promise<Entry | undefined> {
    const row = this.#parts.isName(name) ? this.#find(name) : undefined
    return row && this.#parts.read(row.json)
  }

  async list(): Promise<readonly Entry[]> {
    return runRead(this.#db, () => this.#all.all() as unknown as readonly Row[]).map(({ json }) => this.#parts.read(json))
  }

  async change(name: string, change: (entry: Entry | undefined) => Entry | undefined): Promise<Entry | undefined> {
    const { kind, isName, nameOf } = this.#parts
    if (!isName(name)) throw new RangeError(`No ${kind} can be called so`)
    const registered = {
      read: async () => {
        const row = this.#find(name)
        return { number: row?.number, value: row && this.#parts.read(row.json) }
      },
      write: (entry: Entry | undefined, { number }: { readonly number: number | undefined }) => this.#replace(name, number, entry),
      async pause(attempt: number) {
        if (attempt >= ATTEMPTS) throw new Error(`others kept changing a ${kind}`)
      },
    }
    return changeValue(registered, (entry) => {
      const after = change(entry)
      if (after !== undefined && after !== entry && nameOf(after) !== name) throw new RangeError(`The name of a ${kind} stays`)
      return after
    })
  }

  /**
   * Replaces or removes an entry. `number`: its number when it was read, undefined if it was absent. Returns false if it has changed since.
   */
  #replace(name: string, number: number | undefined, entry: Entry | undefined): Promise<boolean> {
    const { kind } = this.#parts
    if (number === undefined)
      return this.#writer.make(`INSERT INTO ${kind} (name, number, json) VALUES (:name, :next, :json) ON CONFLICT DO NOTHING`, {
        name,
        json: this.#parts.write(entry!),
      })
    const where = 'WHERE name = :name AND number = :number'
    if (entry === undefined) return this.#writer.make(`DELETE FROM ${kind} ${where}`, { name, number })
    return this.#writer.make(`UPDATE ${kind} SET number = :next, json = :json ${where}`, { name, number, json: this.#parts.write(entry) })
  }

  #find(name: string): Row | undefined {
    return runRead(this.#db, () => this.#one.get(name) as Row | undefined)
  }
}

export class SqliteClients extends SqliteRegistered<Client> implements Clients {
  constructor(db: DatabaseSync, writer: GrantsWriter) {
    super(db, writer, { kind: 'client', isName: isClientId, nameOf: ({ id }) => id, read: readClient, write: writeClient })
  }
}

export class SqliteUsers extends SqliteRegistered<User> implements Users {
  constructor(db: DatabaseSync, writer: GrantsWriter) {
    super(db, writer, { kind: 'user', isName: isUserName, nameOf: ({ name }) => name, read: JSON.parse, write: JSON.stringify })
  }
}
