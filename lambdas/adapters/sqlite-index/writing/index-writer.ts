/** Adds documents to the index and removes previous ones. Rows of `place` are sorted in each batch, so that neighbours share a page. */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import type { IndexDocument, Tuple } from '../../../ports/search/search-index.ts'
import { newestVersionsOf } from '../../../ports/store/newest-versions.ts'
import { EMPTY_ENTRY, explicitGroupsOf, type ForwardEntry, type GeoPoint, readEntry, toRows } from '../forward-entry.ts'
import type { FieldNumbers, FieldSet, IndexNumbers } from '../index-numbers.ts'
import type { Interval, Intervals } from '../intervals/intervals.ts'
import type { Postings } from '../lists/postings.ts'
import type { TupleLists } from '../lists/tuple-lists.ts'
import type { CachedColumns } from '../reading/cached-columns.ts'
import { COMPARTMENT_FIELD, ID_FIELD, PRESENCE_KEY } from '../schema.ts'
import { NO_SORTING, serializeSorting } from '../sorting.ts'
import { isPieceEnd, MAX_PIECE_VALUES, type PostingChanges, type PostingRows, postingChangesOf } from './exchange.ts'

/** `hidden`: document numbers that searches exclude, because a large document is being added or removed. */
type Lists = {
  readonly numbers: IndexNumbers
  readonly postings: Postings
  readonly intervals: Intervals
  readonly tuples: TupleLists
  readonly hidden: Set<number>
  readonly columns: CachedColumns
}

type KnownDocument = { readonly doc: number; readonly version: number; readonly held: string }
type NewDocument = [doc: number, kind: number, id: string, version: number, sorting: string, entry: string]
/**
 * Document to add. `known`: its row, if it is in the index. `before`: its forward entry there. `exchange`: postings to add and to remove.
 */
type Put = {
  readonly document: IndexDocument
  readonly kind: number
  readonly known: KnownDocument | undefined
  readonly before: ForwardEntry
  readonly postings: PostingRows
  readonly exchange: PostingChanges
}
/** Tuple with the fields that contain it. */
type Placed = { readonly tuple: Tuple; fields: FieldSet }
type IdRow = [kind: number, id: string, doc: number, deleted: number]

const ROWS_AT_ONCE = 16
/** Maximum tuples, and maximum interval fields, per document that are checked for duplicates. Further ones may be stored twice. */
const MOST_COMPARED = 100

export class IndexWriter {
  readonly #db: DatabaseSync
  readonly #numbers: IndexNumbers
  readonly #postings: Postings
  readonly #intervals: Intervals
  readonly #tuples: TupleLists
  readonly #hidden: Set<number>
  readonly #columns: CachedColumns
  readonly #insertions = new Map<string, StatementSync>()
  readonly #statements
  #nextDoc: number
  readonly #documents: NewDocument[] = []
  readonly #places: IdRow[] = []
  readonly #points: GeoPoint[] = []

  constructor(db: DatabaseSync, { numbers, postings, intervals, tuples, hidden, columns }: Lists) {
    this.#db = db
    this.#columns = columns
    this.#numbers = numbers
    this.#postings = postings
    this.#intervals = intervals
    this.#tuples = tuples
    this.#hidden = hidden
    this.#statements = {
      known: db.prepare('SELECT d.doc, d.version, d.held FROM place p JOIN document d ON d.doc = p.doc WHERE p.kind = ? AND p.id = ?'),
      document: db.prepare('UPDATE document SET version = ?, sorting = ?, held = ? WHERE doc = ?'),
      replaced: db.prepare('DELETE FROM document WHERE doc = ?'),
      place: db.prepare('UPDATE place SET doc = ?, deleted = ? WHERE kind = ? AND id = ?'),
      point: db.prepare('DELETE FROM point WHERE field = ? AND latitude = ? AND longitude = ? AND doc = ?'),
    }
    this.#nextDoc = nextDocOf(db)
  }

  /**
   * Adds documents within the caller's transaction. `again`: also replaces documents of the same version. A document with very many values
   * is added in pieces, under a new number. Searches find the previous number until all pieces are in, then the new one.
   */
  *applying(documents: readonly IndexDocument[], again = false): Generator<undefined, undefined> {
    for (const document of newestVersionsOf(documents, ({ version }) => version))
      for (const piece of this.#put(document, again)) {
        this.#writeRows()
        yield piece
      }
    this.#writeRows()
  }

  /** Clears the caches and the pending rows. Must be called after a rollback. */
  reset(): void {
    this.#numbers.reset()
    for (const rows of [this.#documents, this.#places, this.#points]) rows.length = 0
    this.#hidden.clear()
    this.#nextDoc = nextDocOf(this.#db)
  }

  *#put(document: IndexDocument, again: boolean): Generator<undefined, void> {
    const { tenant, type, id, version, deleted } = document
    const kind = this.#numbers.kindOf(tenant, type)
    const known = this.#statements.known.get(kind, id) as KnownDocument | undefined
    if (known !== undefined && (known.version > version || (known.version === version && !again))) return
    const before = readEntry(known?.held ?? '')
    const postings = deleted ? EMPTY_ENTRY[0] : yield* this.#postingsOf(kind, document)
    const exchange = yield* postingChangesOf(before[0], postings)
    const put = { document, kind, known, before, postings, exchange }
    if (exchange.added.length + exchange.removed.length > 2 * MAX_PIECE_VALUES) return yield* this.#putLarge(put)
    const doc = known?.doc ?? this.#nextDoc++
    if (before !== EMPTY_ENTRY) this.#removeRows(doc, before)
    const entry = this.#collect(doc, put)
    for (const _ of this.#addPostings(exchange.added, doc));
    for (const _ of this.#removePostings(exchange.removed, doc));
    this.#place(doc, put, entry)
  }

  /** Adds the document under a new number, which is hidden until it is complete. Then hides the previous number and removes it. */
  *#putLarge(put: Put): Generator<undefined, void> {
    const { known, before, postings } = put
    const doc = this.#nextDoc++
    this.#hidden.add(doc)
    yield* this.#addPostings(postings, doc)
    const entry = this.#collect(doc, put)
    yield
    if (known !== undefined) this.#hidden.add(known.doc)
    this.#place(doc, put, entry)
    this.#writeRows()
    this.#hidden.delete(doc)
    if (known === undefined) return
    yield
    this.#removeRows(known.doc, before)
    yield* this.#removePostings(before[0], known.doc)
    this.#hidden.delete(known.doc)
  }

  #place(doc: number, { document, kind, known }: Put, now: ForwardEntry): void {
    const { id, version, deleted, present, order } = document
    const sorting = deleted ? NO_SORTING : serializeSorting(present, order, this.#numbers.fieldsOf(kind))
    const entry = deleted ? '' : JSON.stringify(now)
    if (known?.doc === doc) {
      this.#statements.document.run(version, sorting, entry, doc)
      this.#columns.forget(doc)
    } else this.#documents.push([doc, kind, id, version, sorting, entry])
    if (known === undefined) return void this.#places.push([kind, id, doc, Number(deleted)])
    if (known.doc !== doc) this.#statements.replaced.run(known.doc)
    if (known.doc !== doc || deleted !== (known.held === '')) this.#statements.place.run(doc, Number(deleted), kind, id)
  }

  /** Adds the document's points to the batch, and its intervals to memory. Returns its forward entry. */
  #collect(doc: number, { document, kind, postings }: Put): ForwardEntry {
    if (document.deleted) return EMPTY_ENTRY
    const fieldOf = this.#numbers.fieldsOf(kind)
    return [
      postings,
      this.#addIntervals(kind, doc, document, fieldOf),
      this.#addPoints(doc, document, fieldOf),
      explicitGroupsOf(document, fieldOf),
    ]
  }

  /** Returns the postings: each value under the combination of its fields, and one under the negated numbers of all fields with values. */
  *#postingsOf(kind: number, { keys, compartments, present }: IndexDocument): Generator<undefined, PostingRows> {
    const fieldOf = this.#numbers.fieldsOf(kind)
    const fieldsOf = new Map<string, FieldSet>()
    const lists = Object.entries(keys).filter(([name]) => name !== ID_FIELD)
    if (compartments.length > 0) lists.push([COMPARTMENT_FIELD, compartments])
    for (const [name, values] of lists) {
      const field = fieldOf(name)
      for (let i = 0; i < values.length; i++) {
        fieldsOf.set(values[i]!, this.#numbers.together(fieldsOf.get(values[i]!), field))
        if ((i + 1) % MAX_PIECE_VALUES === 0) yield
      }
    }
    const postings: (number | string)[] = []
    const put = (fields: FieldSet, value: string): void => {
      for (const combination of this.#numbers.combinationsOf(kind, fields)) postings.push(combination, value)
    }
    let values = 0
    for (const [value, fields] of fieldsOf) {
      put(fields, value)
      if (++values % MAX_PIECE_VALUES === 0) yield
    }
    let fields = this.#numbers.together(undefined, -fieldOf(ID_FIELD))
    for (const parameter of present) fields = this.#numbers.together(fields, -fieldOf(parameter))
    put(fields, PRESENCE_KEY)
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

  /** Returns the tuples with the fields that contain them. Up to MOST_COMPARED different tuples, each occurs only once. */
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
    for (const [field, latitude, longitude] of toRows<[number, number, number]>(points, 3))
      this.#statements.point.run(field, latitude, longitude, doc)
  }

  *#addPostings(rows: PostingRows, doc: number): Generator<undefined, void> {
    for (let i = 0; i < rows.length; i += 2) {
      if (isPieceEnd(i)) yield
      this.#postings.add(Number(rows[i]), String(rows[i + 1]), doc)
    }
  }

  *#removePostings(rows: PostingRows, doc: number): Generator<undefined, void> {
    for (let i = 0; i < rows.length; i += 2) {
      if (isPieceEnd(i)) yield
      this.#postings.remove(Number(rows[i]), String(rows[i + 1]), doc)
    }
  }

  #writeRows(): void {
    this.#postings.removeWritten()
    this.#places.sort((a, b) => a[0] - b[0] || (a[1] < b[1] ? -1 : 1))
    this.#insert('document', 6, this.#documents)
    this.#insert('place', 4, this.#places)
    this.#insert('point', 4, this.#points)
  }

  /** Inserts the rows, many per statement, and empties the list. */
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
      // IGNORE: SQLite copies every page that a statement changes if one of several rows may abort it. A point may also exist already.
      statement = this.#db.prepare(`INSERT OR IGNORE INTO ${table} VALUES ${Array(rows).fill(row).join(', ')}`)
      this.#insertions.set(name, statement)
    }
    return statement
  }
}

const nextDocOf = (db: DatabaseSync): number =>
  ((db.prepare('SELECT max(doc) AS doc FROM document').get() as { readonly doc: number | null }).doc ?? 0) + 1

/** Interval that is stored for a tuple without ranges, so that its list contains the document. */
const NO_RANGES: Tuple['ranges'] = [[0, 0]]

const isSameTuple = (a: Tuple, b: Tuple): boolean =>
  a.key === b.key &&
  a.ranges.length === b.ranges.length &&
  a.ranges.every(([low, high], i) => low === b.ranges[i]![0] && high === b.ranges[i]![1]) &&
  a.labels.length === b.labels.length &&
  a.labels.every((label, i) => label === b.labels[i])
