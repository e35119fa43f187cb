/**
 * What calls to DynamoDB consume, computed from what was sent and answered: the figures emulators answer are not right.
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html
 * https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
 */
import type { Tree } from './aws-calls.ts'
import type { RecordedCall } from './recorder.ts'

export type ConsumedUnits = { readonly reads: number; readonly writes: number }

/** The attributes of the key of the table's index, and what else it holds. */
const PLACED = ['gpk', 'gsk']
const PROJECTED = ['pk', 'sk', 'gpk', 'gsk', 'sup']

/** Bytes of an entry of the index that is counted, about. */
const COUNTED = 200

const NOTHING: ConsumedUnits = { reads: 0, writes: 0 }
const READ_STEP = 4_096
const WRITE_STEP = 1_024

/**
 * Keeps the sizes of what it has seen written, so the calls must be all there were, in their order. An update is known by what it answers, else
 * taken for as large as what was there before with what it sets.
 */
export class UnitMeter {
  readonly #items = new Map<string, Tree>()

  unitsOf({ service, operation, input, output, status }: RecordedCall): ConsumedUnits {
    if (service !== 'dynamodb' || status >= 400) return NOTHING
    switch (operation) {
      case 'GetItem':
        return { reads: readUnits(itemSizeOf(output.Item), input.ConsistentRead), writes: 0 }
      case 'BatchGetItem':
        return { reads: this.#batchRead(input, output), writes: 0 }
      case 'Query':
        return { reads: this.#query(input, output), writes: 0 }
      case 'PutItem':
      case 'UpdateItem':
      case 'DeleteItem':
        return { reads: 0, writes: this.#write(operation, input) }
      case 'BatchWriteItem':
        return { reads: 0, writes: sum(changesOf(input).map(([kind, change]) => this.#write(kind, change))) }
      case 'TransactWriteItems':
        return { reads: 0, writes: 2 * sum(partsOf(input).map(([kind, change]) => this.#write(kind, change))) }
      default:
        throw new Error(`not known: ${operation}`)
    }
  }

  #batchRead(input: Tree, output: Tree): number {
    const items = Object.entries<Tree>(input.RequestItems)
    return sum(
      items.map(([table, { Keys, ConsistentRead }]) => {
        const found: readonly Tree[] = output.Responses?.[table] ?? []
        const missing = Keys.length - found.length
        return sum(found.map((item) => readUnits(itemSizeOf(item), ConsistentRead))) + missing * readUnits(0, ConsistentRead)
      }),
    )
  }

  /** What a projection leaves out is read all the same: the sizes of whole items count where they are known. */
  #query({ TableName, IndexName, ConsistentRead }: Tree, { Items, Count }: Tree): number {
    // What is only counted is read all the same.
    if (Items === undefined) return readUnits(Count * COUNTED, ConsistentRead)
    const sizes = (Items as readonly Tree[]).map((item) => {
      const whole = IndexName === undefined ? this.#items.get(nameOf(TableName, item)) : undefined
      return itemSizeOf(whole ?? item)
    })
    return readUnits(sum(sizes), ConsistentRead)
  }

  #write(kind: string, change: Tree): number {
    const name = nameOf(change.TableName, change.Item ?? change.Key)
    const before = this.#items.get(name)
    if (kind === 'ConditionCheck') return units(itemSizeOf(before), WRITE_STEP)
    const after = kind === 'PutItem' ? change.Item : kind === 'UpdateItem' ? updated(before, change) : undefined
    if (after === undefined) this.#items.delete(name)
    else this.#items.set(name, after)
    return units(Math.max(itemSizeOf(before), itemSizeOf(after)), WRITE_STEP) + indexUnits(before, after)
  }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0)
const units = (size: number, step: number): number => Math.max(1, Math.ceil(size / step))
const readUnits = (size: number, isConsistent = false): number => units(size, READ_STEP) * (isConsistent ? 1 : 0.5)
const nameOf = (table: string, { pk, sk }: Tree): string => JSON.stringify([table, pk, sk])

/** An item that moves in the index is deleted and put. */
function indexUnits(before: Tree | undefined, after: Tree | undefined): number {
  const [old, now] = [projected(before), projected(after)]
  if (old === undefined && now === undefined) return 0
  if (JSON.stringify(old) === JSON.stringify(now)) return 0
  const size = units(Math.max(itemSizeOf(old), itemSizeOf(now)), WRITE_STEP)
  const hasMoved = old !== undefined && now !== undefined && PLACED.some((name) => JSON.stringify(old[name]) !== JSON.stringify(now[name]))
  return hasMoved ? 2 * size : size
}

function projected(item: Tree | undefined): Tree | undefined {
  if (item === undefined || PLACED.some((name) => item[name] === undefined)) return undefined
  return Object.fromEntries(PROJECTED.filter((name) => item[name] !== undefined).map((name) => [name, item[name]]))
}

const WRITES = { PutRequest: 'PutItem', DeleteRequest: 'DeleteItem' } as const

const changesOf = (input: Tree): readonly (readonly [string, Tree])[] =>
  Object.entries<readonly Tree[]>(input.RequestItems).flatMap(([TableName, requests]) =>
    requests.map((request) => {
      const kind = request.PutRequest === undefined ? 'DeleteRequest' : 'PutRequest'
      return [WRITES[kind], { TableName, ...request[kind] }] as const
    }),
  )

const PARTS: Readonly<Record<string, string>> = {
  Put: 'PutItem',
  Update: 'UpdateItem',
  Delete: 'DeleteItem',
  ConditionCheck: 'ConditionCheck',
}

const partsOf = (input: Tree): readonly (readonly [string, Tree])[] =>
  (input.TransactItems as readonly Tree[]).map((part) => {
    const [kind, change] = Object.entries<Tree>(part)[0]!
    return [PARTS[kind]!, change] as const
  })

/** Assignments and removals of attributes, which is all the stores use; another update is an error, not a guess. */
function updated(
  before: Tree | undefined,
  { Key, UpdateExpression, ExpressionAttributeNames = {}, ExpressionAttributeValues = {} }: Tree,
): Tree {
  const after: Record<string, Tree> = { ...before, ...Key }
  const attribute = (text: string): string => ExpressionAttributeNames[text] ?? text
  for (const [, clause, text] of UpdateExpression.matchAll(/\b(SET|REMOVE)\s+(.*?)(?=\s+(?:SET|REMOVE)\s|$)/gs)) {
    for (const part of text.split(',')) {
      const [target, value] = part.split('=').map((side: string) => side.trim())
      if (clause === 'REMOVE') delete after[attribute(target)]
      else after[attribute(target)] = value.startsWith(':') ? ExpressionAttributeValues[value] : before?.[attribute(value)]
    }
  }
  return after
}

/** Of an item: names and values as DynamoDB counts them. */
export function itemSizeOf(item: Tree | undefined): number {
  return item === undefined ? 0 : sum(Object.entries<Tree>(item).map(([name, value]) => Buffer.byteLength(name) + valueSize(value)))
}

function valueSize(value: Tree): number {
  const [kind, content] = Object.entries<Tree>(value)[0]!
  switch (kind) {
    case 'S':
      return Buffer.byteLength(content)
    case 'N':
      return Math.ceil(content.replace(/[-.]|^0+|0+$/g, '').length / 2) + 1
    case 'B':
      return Buffer.from(content, 'base64').length
    case 'L':
      return 3 + sum(content.map((each: Tree) => 1 + valueSize(each)))
    case 'M':
      return 3 + itemSizeOf(content) + Object.keys(content).length
    case 'SS':
    case 'NS':
    case 'BS':
      return sum(content.map((each: string) => valueSize({ [kind[0]!]: each })))
    default:
      return 1
  }
}
