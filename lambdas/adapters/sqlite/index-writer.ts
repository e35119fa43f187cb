/** Puts documents into the index and takes old ones out. Rows of a batch are sorted, so that neighbours land on one page. */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import type { IndexDocument, Tuple } from '../../ports/search-index.ts'
import { COMPARTMENT, ID } from './compile-plan.ts'
import { ownGroups, type Point, type Posting, readHeld, type Span, type TupleRow, writeHeld } from './held.ts'
import { IndexNumbers } from './index-numbers.ts'
import { NO_SORTING, writeSorting } from './sorting.ts'

type Row = { readonly doc: number; readonly version: number; readonly held: string }

type Place = readonly [kind: number, id: string, doc: number]

/** The rows of a batch, or of one document. */
class Rows {
  readonly documents: SQLInputValue[][] = []
  readonly live: Place[] = []
  readonly gone: Place[] = []
  readonly postings: Posting[] = []
  readonly spans: Span[] = []
  readonly tuples: TupleRow[] = []
  readonly points: Point[] = []

  add({ postings, spans, tuples, points }: Rows): void {
    for (const row of postings) this.postings.push(row)
    for (const row of spans) this.spans.push(row)
    for (const row of tuples) this.tuples.push(row)
    for (const row of points) this.points.push(row)
  }
}

const ROWS_AT_ONCE = 64

type Table = 'document' | 'live' | 'gone' | 'posting' | 'span' | 'tuple' | 'point'

export class IndexWriter {
  readonly #db: DatabaseSync
  readonly #numbers: IndexNumbers
  readonly #statements
  #nextDoc: number

  constructor(db: DatabaseSync) {
    this.#db = db
    this.#numbers = new IndexNumbers(db)
    this.#statements = {
      known: db.prepare(
        `SELECT doc, version, held FROM document WHERE doc = coalesce((SELECT doc FROM live WHERE kind = ?1 AND id = ?2), (SELECT doc FROM gone WHERE kind = ?1 AND id = ?2))`,
      ),
      notLive: db.prepare('DELETE FROM live WHERE kind = ? AND id = ?'),
      notGone: db.prepare('DELETE FROM gone WHERE kind = ? AND id = ?'),
      posting: db.prepare('DELETE FROM posting WHERE combination = ? AND value = ? AND doc = ?'),
      span: db.prepare('DELETE FROM span WHERE field = ? AND low = ? AND high = ? AND doc = ?'),
      tuple: db.prepare('DELETE FROM tuple WHERE combination = ? AND key = ? AND low0 = ? AND doc = ? AND n = ?'),
      point: db.prepare('DELETE FROM point WHERE field = ? AND latitude = ? AND longitude = ? AND doc = ?'),
    }
    this.#nextDoc = nextDocOf(db)
  }

  /** Within the caller's transaction. `again`: documents of versions it has are put anew. */
  apply(documents: readonly IndexDocument[], again = false): void {
    const rows = new Rows()
    for (const document of newestOf(documents)) this.#put(document, rows, again)
    rows.postings.sort((a, b) => a[0] - b[0] || (a[1] < b[1] ? -1 : a[1] > b[1] ? 1 : a[2] - b[2]))
    rows.spans.sort((a, b) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2])
    for (const places of [rows.live, rows.gone]) places.sort((a, b) => a[0] - b[0] || (a[1] < b[1] ? -1 : 1))
    this.#insert('document', 7, rows.documents)
    this.#insert('live', 3, rows.live)
    this.#insert('gone', 3, rows.gone)
    this.#insert('posting', 3, rows.postings)
    this.#insert('span', 4, rows.spans)
    this.#insert('tuple', 9, rows.tuples)
    this.#insert('point', 4, rows.points)
  }

  /** Forgets what it knows by heart: the transaction was rolled back. */
  reset(): void {
    this.#numbers.reset()
    this.#nextDoc = nextDocOf(this.#db)
  }

  #put(document: IndexDocument, rows: Rows, again: boolean): void {
    const { tenant, type, id, version, deleted } = document
    const kind = this.#numbers.kindOf(tenant, type)
    const known = this.#statements.known.get(kind, id) as Row | undefined
    if (known !== undefined && (known.version > version || (known.version === version && !again))) return
    const doc = known?.doc ?? this.#nextDoc++
    if (known !== undefined) {
      this.#remove(doc, known.held)
      this.#statements[deleted ? 'notLive' : 'notGone'].run(kind, id)
    }
    const held = deleted ? '' : this.#collect(kind, doc, document, rows)
    const sorting = deleted ? NO_SORTING : this.#sortingOf(kind, document)
    rows.documents.push([doc, kind, id, version, deleted ? 1 : 0, sorting, held])
    rows[deleted ? 'gone' : 'live'].push([kind, id, doc])
  }

  /** Adds the document's rows to those of the batch, and gives what to remember of them. */
  #collect(kind: number, doc: number, document: IndexDocument, batch: Rows): string {
    const rows = new Rows()
    const fieldOf = (name: string): number => this.#numbers.fieldOf(kind, name)
    for (const [value, fields] of fieldsOf(document, fieldOf))
      for (const combination of this.#numbers.combinationsOf(kind, fields)) rows.postings.push([combination, value, doc])
    for (const ranges of [document.spans, document.numbers])
      for (const name in ranges) {
        const field = fieldOf(name)
        for (const [low, high] of ranges[name]!) rows.spans.push([field, low, high, doc])
        if (ranges[name]!.length > 1) this.#numbers.several(field)
      }
    for (const { tuple, fields } of tuplesOf(document, fieldOf))
      for (const combination of this.#numbers.combinationsOf(kind, fields))
        rows.tuples.push(tupleRow(combination, doc, rows.tuples.length, tuple))
    for (const name in document.points) {
      const field = fieldOf(name)
      for (const [latitude, longitude] of document.points[name]!) rows.points.push([field, latitude, longitude, doc])
    }
    batch.add(rows)
    return writeHeld(rows, ownGroups(document, fieldOf))
  }

  #sortingOf(kind: number, { present, order }: IndexDocument): string {
    return writeSorting(present.map((param) => [this.#numbers.fieldOf(kind, param), order[param]]))
  }

  #remove(doc: number, text: string): void {
    if (text === '') return
    const { postings, spans, tuples, points } = readHeld(text)
    for (const [field, value] of postings) this.#statements.posting.run(field, value, doc)
    for (const [field, low, high] of spans) this.#statements.span.run(field, Number(low), Number(high), doc)
    for (const [field, key, low, n] of tuples) this.#statements.tuple.run(field, key, Number(low), doc, n)
    for (const [field, latitude, longitude] of points) this.#statements.point.run(field, latitude, longitude, doc)
  }

  #insert(table: Table, columns: number, rows: readonly (readonly SQLInputValue[])[]): void {
    const whole = rows.length - (rows.length % ROWS_AT_ONCE)
    const values: SQLInputValue[] = Array(columns * ROWS_AT_ONCE).fill(null)
    for (let i = 0; i < whole; i += ROWS_AT_ONCE) {
      for (let row = 0; row < ROWS_AT_ONCE; row++)
        for (let column = 0; column < columns; column++) values[row * columns + column] = rows[i + row]![column]!
      this.#insertion(table, columns, ROWS_AT_ONCE).run(...values)
    }
    for (let i = whole; i < rows.length; i++) this.#insertion(table, columns, 1).run(...rows[i]!)
  }

  readonly #insertions = new Map<string, StatementSync>()

  #insertion(table: string, columns: number, rows: number): StatementSync {
    const name = `${table} ${rows}`
    let statement = this.#insertions.get(name)
    if (statement === undefined) {
      const row = `(${Array(columns).fill('?').join(', ')})`
      statement = this.#db.prepare(`INSERT OR REPLACE INTO ${table} VALUES ${Array(rows).fill(row).join(', ')}`)
      this.#insertions.set(name, statement)
    }
    return statement
  }
}

const nextDocOf = (db: DatabaseSync): number =>
  ((db.prepare('SELECT max(doc) AS doc FROM document').get() as { readonly doc: number | null }).doc ?? 0) + 1

/** The fields in which each value stands. */
function fieldsOf({ keys, compartments }: IndexDocument, fieldOf: (name: string) => number): ReadonlyMap<string, readonly number[]> {
  const fields = new Map<string, number[]>()
  const add = (name: string, values: readonly string[]): void => {
    const field = fieldOf(name)
    for (const value of values) {
      const others = fields.get(value)
      if (others === undefined) fields.set(value, [field])
      else if (others.at(-1) !== field) others.push(field)
    }
  }
  for (const name in keys) if (name !== ID) add(name, keys[name]!)
  if (compartments.length > 0) add(COMPARTMENT, compartments)
  return fields
}

type TupleOfFields = { readonly tuple: Tuple; readonly fields: number[] }

/** Each tuple once, with the fields in which it stands. */
function tuplesOf({ tuples }: IndexDocument, fieldOf: (name: string) => number): Iterable<TupleOfFields> {
  const found = new Map<string, TupleOfFields>()
  for (const name in tuples) {
    const field = fieldOf(name)
    for (const tuple of tuples[name]!) {
      const text = `${tuple.key}\n${tuple.ranges.join('\n')}\n${tuple.labels.join('\n')}`
      const same = found.get(text)
      if (same === undefined) found.set(text, { tuple, fields: [field] })
      else if (!same.fields.includes(field)) same.fields.push(field)
    }
  }
  return found.values()
}

/** Labels stand between line breaks, so that one is found whole or by its beginning. */
const tupleRow = (combination: number, doc: number, n: number, { key, labels, ranges: [one, two] }: Tuple): TupleRow => [
  combination,
  key,
  one?.[0] ?? 0,
  doc,
  n,
  one?.[1] ?? null,
  two?.[0] ?? null,
  two?.[1] ?? null,
  labels.map((label) => `\n${label}\n`).join(''),
]

/** Of several versions of a resource in one batch only the highest. */
function newestOf(documents: readonly IndexDocument[]): Iterable<IndexDocument> {
  const newest = new Map<string, IndexDocument>()
  for (const document of documents) {
    const key = `${document.tenant} ${document.type}/${document.id}`
    const before = newest.get(key)
    if (before === undefined || before.version < document.version) newest.set(key, document)
  }
  return newest.values()
}
