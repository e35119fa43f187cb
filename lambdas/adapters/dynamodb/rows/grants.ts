/**
 * Grants as items that expire.
 *
 *   pk GRANT#kind#digest of the key    sk S      the grant: n, its number; ms, the instant it expires
 *   pk OWNED#kind#digest of the owner  sk K#key  reference to a grant of the owner, which may no longer exist
 */
import { createHash, randomInt, randomUUID } from 'node:crypto'
import { changeValue } from '../../../ports/rows/change.ts'
import type { Grant, GrantKind, GrantRow, Grants } from '../../../ports/rows/grants.ts'
import type { Item, Key, TableClient, TransactionActions } from '../table-client.ts'
import { EXPIRY_ATTRIBUTE } from '../table-keys.ts'
import { pauseChange } from './changed-item.ts'

/** Default maximum of grants per page of `listOf`. */
const PAGE = 1_000
const READ_AT_ONCE = 100
/** Maximum characters of a key in a sort key, which has at most 1,024 bytes. A longer key is cut and gets a digest. */
const LONGEST_SORT = 200

const ABSENT = 'attribute_not_exists(pk) OR ms <= :now'
const UNCHANGED = 'n = :n AND (attribute_not_exists(ms) OR ms > :now)'

type Written = { readonly kind: GrantKind; readonly key: string; readonly number: number; readonly grant: Grant }

export class DynamoDbGrants implements Grants {
  readonly #dynamo: TableClient
  readonly #now: () => number
  readonly #page: number

  /** `page`: maximum grants per page of `listOf`. */
  constructor(dynamo: TableClient, now: () => number, page: number = PAGE) {
    this.#dynamo = dynamo
    this.#now = now
    this.#page = page
  }

  async add(kind: GrantKind, key: string, grant: Grant): Promise<boolean> {
    // Random, so that a grant that is removed and added again practically never gets its former number.
    const number = randomInt(2 ** 47)
    const condition = { ConditionExpression: ABSENT, ExpressionAttributeValues: { ':now': this.#now() } }
    return this.#transact(this.#puts({ kind, key, number, grant }, condition))
  }

  async get(kind: GrantKind, key: string): Promise<GrantRow | undefined> {
    return this.#living(await this.#dynamo.get(grantKey(kind, key)))
  }

  async replace(kind: GrantKind, { key, number, owner }: GrantRow, by: Grant): Promise<boolean> {
    const puts = this.#puts({ kind, key, number: number + 1, grant: by }, this.#unchanged(number))
    const left = owner === by.owner ? [] : this.#deletes(kind, key, owner)
    return this.#transact([...puts, ...left])
  }

  async remove(kind: GrantKind, key: string, number?: number): Promise<boolean> {
    let isRemoved = false
    const grant = {
      read: async () => ({ value: await this.get(kind, key) }),
      write: (_: GrantRow | undefined, { value }: { readonly value: GrantRow | undefined }) => this.#removeUnchanged(kind, value!),
      pause: pauseChange,
    }
    await changeValue(grant, (known) => {
      // guard: grant-removal-checks-its-number
      isRemoved = known !== undefined && known.number === (number ?? known.number)
      return isRemoved ? undefined : known
    })
    return isRemoved
  }

  async listOf(kind: GrantKind, owner: string, after = ''): Promise<readonly GrantRow[]> {
    const found: GrantRow[] = []
    for await (const keys of this.#keysOf(kind, owner, after)) {
      const items = await this.#dynamo.getAll(keys.map((key) => grantKey(kind, key)))
      found.push(...items.flatMap((item) => this.#living(item) ?? []).filter((grant) => grant.owner === owner))
      if (found.length >= this.#page) break
    }
    return found.slice(0, this.#page)
  }

  /** Does nothing: DynamoDB deletes expired items itself. */
  async sweep(): Promise<void> {}

  async *#keysOf(kind: GrantKind, owner: string, after: string): AsyncGenerator<readonly string[]> {
    if (owner === '') return
    const values = { ':pk': ownedKey(kind, owner), ':after': sortOf(after) }
    const all = { KeyConditionExpression: 'pk = :pk AND sk > :after', ExpressionAttributeValues: values, ConsistentRead: true }
    let keys: string[] = []
    for await (const item of this.#dynamo.query(all)) {
      if (keys.push(item.key as string) < READ_AT_ONCE) continue
      yield keys
      keys = []
    }
    if (keys.length > 0) yield keys
  }

  #removeUnchanged(kind: GrantKind, { key, number, owner }: GrantRow): Promise<boolean> {
    const Delete = { TableName: this.#dynamo.table, Key: grantKey(kind, key), ...this.#unchanged(number) }
    return this.#transact([{ Delete }, ...this.#deletes(kind, key, owner)])
  }

  /**
   * Executes the actions in one transaction. Returns false if a condition failed. The token makes a repeated call idempotent, after a lost
   * response.
   */
  async #transact(actions: TransactionActions): Promise<boolean> {
    return (await this.#dynamo.transact(actions, randomUUID())) === 'done'
  }

  #unchanged(number: number) {
    return { ConditionExpression: UNCHANGED, ExpressionAttributeValues: { ':n': number, ':now': this.#now() } }
  }

  #puts({ kind, key, number, grant }: Written, condition: object): TransactionActions {
    const { owner, value, expires } = grant
    const ending = expires === undefined ? {} : { ms: expires, [EXPIRY_ATTRIBUTE]: Math.ceil(expires / 1000) }
    const common = { TableName: this.#dynamo.table }
    const item = { ...grantKey(kind, key), key, owner, n: number, json: JSON.stringify(value), ...ending }
    const owned = { pk: ownedKey(kind, owner), sk: sortOf(key), key, ...ending }
    return [{ Put: { ...common, Item: item, ...condition } }, ...(owner === '' ? [] : [{ Put: { ...common, Item: owned } }])]
  }

  #deletes(kind: GrantKind, key: string, owner: string): TransactionActions {
    if (owner === '') return []
    return [{ Delete: { TableName: this.#dynamo.table, Key: { pk: ownedKey(kind, owner), sk: sortOf(key) } } }]
  }

  #living(item: Item | undefined): GrantRow | undefined {
    if (item === undefined) return undefined
    const { key, owner, n, json, ms } = item as Item & StoredGrant
    if (ms !== undefined && ms <= this.#now()) return undefined
    return { key, owner, number: n, value: JSON.parse(json), ...(ms === undefined ? {} : { expires: ms }) }
  }
}

type StoredGrant = { readonly key: string; readonly owner: string; readonly n: number; readonly json: string; readonly ms?: number }

const digestOf = (text: string): string => createHash('sha256').update(text).digest('base64url')
const grantKey = (kind: GrantKind, key: string): Key => ({ pk: `GRANT#${kind}#${digestOf(key)}`, sk: 'S' })
const ownedKey = (kind: GrantKind, owner: string): string => `OWNED#${kind}#${digestOf(owner)}`

/** Returns the sort key of a reference. References sort by the first LONGEST_SORT characters of the key. */
const sortOf = (key: string): string => `K#${key.length <= LONGEST_SORT ? key : `${key.slice(0, LONGEST_SORT)}#${digestOf(key)}`}`
