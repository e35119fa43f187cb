/** Puts documents into the index and takes old ones out. Rows of a batch are sorted, so that neighbours land on one page. */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import { newestOf } from '../../../ports/newest-of.ts'
import type { IndexDocument, Tuple } from '../../../ports/search-index.ts'
import { EMPTY_ENTRY, type ForwardEntry, inRows, ownGroups, type Point, readEntry } from '../forward-entry.ts'
import type { FieldNumbers, FieldSet, IndexNumbers } from '../index-numbers.ts'
import type { Interval, Intervals } from '../intervals/intervals.ts'
import type { Postings } from '../lists/postings.ts'
import type { TupleLists } from '../lists/tuple-lists.ts'
import { COMPARTMENT, ID, PRESENT } from '../schema.ts'
import { NO_SORTING, writeSorting } from '../sorting.ts'

type Lists = { readonly numbers: IndexNumbers; readonly postings: Postings; readonly intervals: Intervals; readonly tuples: TupleLists }

type KnownDocument = { readonly doc: number; readonly version: number; readonly held: string }
type NewDocument = [doc: number, kind: number, id: string, version: number, sorting: string, entry: string]
/** A tuple with the fields in which it stands. */
type Placed = { readonly tuple: Tuple; fields: FieldSet }
type IdRow = [kind: number, id: string, doc: number, deleted: number]

const ROWS_AT_ONCE = 16
/** Where a document has more tuples or lists of them, the same may be put or remembered twice. */
const MOST_COMPARED = 100

export class IndexWriter {
  readonly #db: DatabaseSync
  readonly #numbers: IndexNumbers
  readonly #postings: Postings
  readonly #intervals: Intervals
  readonly #tuples: TupleLists
  readonly #insertions = new Map<string, StatementSync>()
  readonly #statements
  #nextDoc: number
  readonly #documents: NewDocument[] = []
  readonly #places: IdRow[] = []
  readonly #points: Point[] = []

  constructor(db: DatabaseSync, { numbers, postings, intervals, tuples }: Lists) {
    this.#db = db
    this.#numbers = numbers
    this.#postings = postings
    this.#intervals = intervals
    this.#tuples = tuples
    this.#statements = {
      known: db.prepare('SELECT d.doc, d.version, d.held FROM place p JOIN document d ON d.doc = p.doc WHERE p.kind = ? AND p.id = ?'),
      document: db.prepare('UPDATE document SET version = ?, sorting = ?, held = ? WHERE doc = ?'),
      place: db.prepare('UPDATE place SET deleted = ? WHERE kind = ? AND id = ?'),
      point: db.prepare('DELETE FROM point WHERE field = ? AND latitude = ? AND longitude = ? AND doc = ?'),
    }
    this.#nextDoc = nextDocOf(db)
  }

  /** Within the caller's transaction. `again`: documents of versions it has are put anew. */
  apply(documents: readonly IndexDocument[], again = false): void {
    for (const document of newestOf(documents, ({ version }) => version)) this.#put(document, again)
    this.#places.sort((a, b) => a[0] - b[0] || (a[1] < b[1] ? -1 : 1))
    this.#insert('document', 6, this.#documents)
    this.#insert('place', 4, this.#places)
    this.#insert('point', 4, this.#points)
  }

  /** Forgets what it knows by heart: the transaction was rolled back. */
  reset(): void {
    this.#numbers.reset()
    for (const rows of [this.#documents, this.#places, this.#points]) rows.length = 0
    this.#nextDoc = nextDocOf(this.#db)
  }

  #put(document: IndexDocument, again: boolean): void {
    const { tenant, type, id, version, deleted } = document
    const kind = this.#numbers.kindOf(tenant, type)
    const known = this.#statements.known.get(kind, id) as KnownDocument | undefined
    if (known !== undefined && (known.version > version || (known.version === version && !again))) return
    const doc = known?.doc ?? this.#nextDoc++
    const before = readEntry(known?.held ?? '')
    if (before !== EMPTY_ENTRY) this.#removeRows(doc, before)
    const fieldOf = this.#numbers.fieldsOf(kind)
    const now = deleted ? EMPTY_ENTRY : this.#collect(kind, doc, document, fieldOf)
    this.#exchangePostings(doc, before[0], now[0])
    const sorting = deleted ? NO_SORTING : writeSorting(document.present, document.order, fieldOf)
    const entry = deleted ? '' : JSON.stringify(now)
    if (known === undefined) {
      this.#documents.push([doc, kind, id, version, sorting, entry])
      this.#places.push([kind, id, doc, Number(deleted)])
    } else {
      this.#statements.document.run(version, sorting, entry, doc)
      if (deleted !== (known.held === '')) this.#statements.place.run(Number(deleted), kind, id)
    }
  }

  /** Adds the document's rows to those of the batch, and its intervals; what to remember of them. */
  #collect(kind: number, doc: number, document: IndexDocument, fieldOf: FieldNumbers): ForwardEntry {
    return [
      this.#postingsOf(kind, document, fieldOf),
      this.#addIntervals(kind, doc, document, fieldOf),
      this.#addPoints(doc, document, fieldOf),
      ownGroups(document, fieldOf),
    ]
  }

  /** Each value under the combination of the fields in which it stands. That a field has values is told by its number below zero. */
  #postingsOf(kind: number, { keys, compartments, present }: IndexDocument, fieldOf: FieldNumbers): ForwardEntry[0] {
    const fieldsOf = new Map<string, FieldSet>()
    const add = (name: string, values: readonly string[]): void => {
      const field = fieldOf(name)
      for (const value of values) fieldsOf.set(value, this.#numbers.together(fieldsOf.get(value), field))
    }
    for (const name in keys) if (name !== ID) add(name, keys[name]!)
    if (compartments.length > 0) add(COMPARTMENT, compartments)
    const postings: (number | string)[] = []
    const put = (fields: FieldSet, value: string): void => {
      for (const combination of this.#numbers.combinationsOf(kind, fields)) postings.push(combination, value)
    }
    fieldsOf.forEach(put)
    let fields = this.#numbers.together(undefined, -fieldOf(ID))
    for (const parameter of present) fields = this.#numbers.together(fields, -fieldOf(parameter))
    put(fields, PRESENT)
    return postings
  }

  #addIntervals(kind: number, doc: number, { spans, numbers, tuples }: IndexDocument, fieldOf: FieldNumbers): ForwardEntry[1] {
    const listed: number[] = []
    const add = (field: number, intervals: readonly Interval[]): void => {
      this.#intervals.add(field, doc, intervals)
      if (listed.length >= MOST_COMPARED || !listed.includes(field)) listed.push(field)
    }
    for (const name in spans) add(fieldOf(name), spans[name]!)
    for (const name in numbers) add(fieldOf(name), numbers[name]!)
    for (const { tuple, fields } of this.#tuplesOf(tuples, fieldOf))
      for (const combination of this.#numbers.combinationsOf(kind, fields))
        add(-this.#tuples.listOf(combination, tuple), tuple.ranges.length === 0 ? NO_RANGES : tuple.ranges)
    return listed
  }

  /** Each tuple once, with the fields in which it stands. */
  #tuplesOf(tuples: IndexDocument['tuples'], fieldOf: FieldNumbers): readonly Placed[] {
    const found: Placed[] = []
    for (const name in tuples) {
      const field = fieldOf(name)
      for (const tuple of tuples[name]!) {
        const same = found.length < MOST_COMPARED ? found.find((each) => isSameTuple(each.tuple, tuple)) : undefined
        if (same === undefined) found.push({ tuple, fields: this.#numbers.together(undefined, field) })
        else same.fields = this.#numbers.together(same.fields, field)
      }
    }
    return found
  }

  #addPoints(doc: number, { points }: IndexDocument, fieldOf: FieldNumbers): ForwardEntry[2] {
    const listed: number[] = []
    for (const name in points)
      for (const [latitude, longitude] of points[name]!) {
        this.#points.push([fieldOf(name), latitude, longitude, doc])
        listed.push(fieldOf(name), latitude, longitude)
      }
    return listed
  }

  #removeRows(doc: number, [, intervals, points]: ForwardEntry): void {
    for (const field of intervals) this.#intervals.remove(field, doc)
    for (const [field, latitude, longitude] of inRows<[number, number, number]>(points, 3))
      this.#statements.point.run(field, latitude, longitude, doc)
  }

  /** Only what has changed is touched. */
  #exchangePostings(doc: number, before: ForwardEntry[0], now: ForwardEntry[0]): void {
    const left = new Map<string, readonly [number, string]>()
    for (const posting of inRows<[number, string]>(before, 2)) left.set(posting.join(' '), posting)
    for (let i = 0; i < now.length; i += 2)
      if (left.size === 0 || !left.delete(`${now[i]} ${now[i + 1]}`)) this.#postings.add(Number(now[i]), String(now[i + 1]), doc)
    for (const [combination, value] of left.values()) this.#postings.remove(combination, value, doc)
  }

  /** Empties the list. */
  #insert(table: 'document' | 'place' | 'point', columns: number, rows: (readonly SQLInputValue[])[]): void {
    const whole = rows.length - (rows.length % ROWS_AT_ONCE)
    const values: SQLInputValue[] = Array(columns * ROWS_AT_ONCE).fill(null)
    for (let i = 0; i < whole; i += ROWS_AT_ONCE) {
      for (let row = 0; row < ROWS_AT_ONCE; row++)
        for (let column = 0; column < columns; column++) values[row * columns + column] = rows[i + row]![column]!
      this.#insertion(table, columns, ROWS_AT_ONCE).run(...values)
    }
    for (let i = whole; i < rows.length; i++) this.#insertion(table, columns, 1).run(...rows[i]!)
    rows.length = 0
  }

  #insertion(table: string, columns: number, rows: number): StatementSync {
    const name = `${table} ${rows}`
    let statement = this.#insertions.get(name)
    if (statement === undefined) {
      const row = `(${Array(columns).fill('?').join(', ')})`
      // IGNORE: where a row might fail the statement, SQLite would keep a copy of every page it changes. A point may be there twice.
      statement = this.#db.prepare(`INSERT OR IGNORE INTO ${table} VALUES ${Array(rows).fill(row).join(', ')}`)
      this.#insertions.set(name, statement)
    }
    return statement
  }
}

const nextDocOf = (db: DatabaseSync): number =>
  ((db.prepare('SELECT max(doc) AS doc FROM document').get() as { readonly doc: number | null }).doc ?? 0) + 1

/** The interval of a tuple without ranges. */
const NO_RANGES: Tuple['ranges'] = [[0, 0]]

const isSameTuple = (a: Tuple, b: Tuple): boolean =>
  a.key === b.key &&
  a.ranges.length === b.ranges.length &&
  a.ranges.every(([low, high], i) => low === b.ranges[i]![0] && high === b.ranges[i]![1]) &&
  a.labels.length === b.labels.length &&
  a.labels.every((label, i) => label === b.labels[i])
