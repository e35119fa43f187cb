/** Puts documents into the index and takes old ones out. Rows of a batch are sorted, so that neighbours land on one page. */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import type { IndexDocument, Tuple } from '../../ports/search-index.ts'
import { COMPARTMENT, ID } from './compile-plan.ts'
import { ownGroups, type Point, type Posting, readHeld, type Span, type TupleRow, writeHeld } from './held.ts'

type Row = { readonly doc: number; readonly version: number; readonly held: string }

/** The rows of a batch. */
class Rows {
  readonly postings: Posting[] = []
  readonly spans: Span[] = []
  readonly tuples: TupleRow[] = []
  readonly points: Point[] = []
  readonly sortings: SQLInputValue[][] = []
}

const ROWS_AT_ONCE = 64

export class IndexWriter {
  readonly #db: DatabaseSync
  readonly #fields = new Map<number, Map<string, number>>()
  readonly #kinds = new Map<string, number>()
  readonly #marked = new Set<number>()
  readonly #statements
  #nextDoc: number

  constructor(db: DatabaseSync) {
    this.#db = db
    this.#statements = {
      known: db.prepare(
        `SELECT doc, version, held FROM document WHERE doc = coalesce((SELECT doc FROM live WHERE kind = ?1 AND id = ?2), (SELECT doc FROM gone WHERE kind = ?1 AND id = ?2))`,
      ),
      put: db.prepare('INSERT OR REPLACE INTO document VALUES (?, ?, ?, ?, ?, ?)'),
      live: db.prepare('INSERT OR REPLACE INTO live VALUES (?, ?, ?)'),
      gone: db.prepare('INSERT OR REPLACE INTO gone VALUES (?, ?, ?)'),
      notLive: db.prepare('DELETE FROM live WHERE kind = ? AND id = ?'),
      notGone: db.prepare('DELETE FROM gone WHERE kind = ? AND id = ?'),
      posting: db.prepare('DELETE FROM posting WHERE field = ? AND value = ? AND doc = ?'),
      span: db.prepare('DELETE FROM span WHERE field = ? AND low = ? AND high = ? AND doc = ?'),
      tuple: db.prepare('DELETE FROM tuple WHERE field = ? AND key = ? AND low0 = ? AND doc = ? AND n = ?'),
      point: db.prepare('DELETE FROM point WHERE field = ? AND latitude = ? AND longitude = ? AND doc = ?'),
      sorting: db.prepare('DELETE FROM sorting WHERE doc = ?'),
      field: db.prepare('SELECT field FROM field WHERE kind = ? AND name = ?'),
      addField: db.prepare('INSERT INTO field (kind, name) VALUES (?, ?)'),
      several: db.prepare('UPDATE field SET several = 1 WHERE field = ?'),
      kind: db.prepare('SELECT kind FROM kind WHERE tenant = ? AND type = ?'),
      addKind: db.prepare('INSERT INTO kind (tenant, type) VALUES (?, ?)'),
    }
    this.#nextDoc = ((db.prepare('SELECT max(doc) AS doc FROM document').get() as { doc: number | null }).doc ?? 0) + 1
  }

  /** Within the caller's transaction. `again`: documents of versions it has are put anew. */
  apply(documents: readonly IndexDocument[], again = false): void {
    const rows = new Rows()
    for (const document of newestOf(documents)) this.#put(document, rows, again)
    rows.postings.sort((a, b) => a[0] - b[0] || (a[1] < b[1] ? -1 : a[1] > b[1] ? 1 : a[2] - b[2]))
    rows.spans.sort((a, b) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2])
    this.#insert('posting', 3, rows.postings)
    this.#insert('span', 4, rows.spans)
    this.#insert('tuple', 9, rows.tuples)
    this.#insert('point', 4, rows.points)
    this.#insert('sorting', 4, rows.sortings)
  }

  /** Forgets what it knows by heart: the transaction was rolled back. */
  reset(): void {
    this.#fields.clear()
    this.#kinds.clear()
    this.#marked.clear()
    this.#nextDoc = ((this.#db.prepare('SELECT max(doc) AS doc FROM document').get() as { doc: number | null }).doc ?? 0) + 1
  }

  #put(document: IndexDocument, rows: Rows, again: boolean): void {
    const { tenant, type, id, version, deleted } = document
    const kind = this.#kindOf(tenant, type)
    const known = this.#statements.known.get(kind, id) as Row | undefined
    if (known !== undefined && (known.version > version || (known.version === version && !again))) return
    const doc = known?.doc ?? this.#nextDoc++
    if (known !== undefined) this.#remove(doc, known.held)
    const held = deleted ? '' : this.#collect(kind, doc, document, rows)
    this.#statements.put.run(doc, kind, id, version, deleted ? 1 : 0, held)
    this.#statements[deleted ? 'gone' : 'live'].run(kind, id, doc)
    if (known !== undefined) this.#statements[deleted ? 'notLive' : 'notGone'].run(kind, id)
  }

  #collect(kind: number, doc: number, document: IndexDocument, { postings, spans, tuples, points, sortings }: Rows): string {
    const first = { posting: postings.length, span: spans.length, tuple: tuples.length, point: points.length }
    const fieldOf = (name: string): number => this.#fieldOf(kind, name)
    for (const name in document.keys) {
      if (name === ID) continue
      const field = fieldOf(name)
      for (const key of document.keys[name]!) postings.push([field, key, doc])
    }
    if (document.compartments.length > 0) {
      const field = fieldOf(COMPARTMENT)
      for (const compartment of document.compartments) postings.push([field, compartment, doc])
    }
    for (const ranges of [document.spans, document.numbers])
      for (const name in ranges) {
        const field = fieldOf(name)
        for (const [low, high] of ranges[name]!) spans.push([field, low, high, doc])
        if (ranges[name]!.length > 1) this.#several(field)
      }
    for (const name in document.tuples) {
      const field = fieldOf(name)
      document.tuples[name]!.forEach((tuple, n) => {
        tuples.push(tupleRow(field, doc, n, tuple))
      })
    }
    for (const name in document.points) {
      const field = fieldOf(name)
      for (const [latitude, longitude] of document.points[name]!) points.push([field, latitude, longitude, doc])
    }
    for (const param of document.present) {
      const { low = null, high = null } = document.order[param] ?? {}
      sortings.push([doc, fieldOf(param), low, high === low ? null : high])
    }
    return writeHeld({
      postings: postings.slice(first.posting).map(([field, value]) => [field, value]),
      spans: spans.slice(first.span).map(([field, low, high]) => [field, String(low), String(high)]),
      tuples: tuples.slice(first.tuple).map(([field, key, low, , n]) => [field, key, String(low), n]),
      points: points.slice(first.point).map(([field, latitude, longitude]) => [field, latitude, longitude]),
      groups: ownGroups(document, fieldOf),
    })
  }

  #remove(doc: number, text: string): void {
    if (text === '') return
    const { postings, spans, tuples, points } = readHeld(text)
    for (const [field, value] of postings) this.#statements.posting.run(field, value, doc)
    for (const [field, low, high] of spans) this.#statements.span.run(field, Number(low), Number(high), doc)
    for (const [field, key, low, n] of tuples) this.#statements.tuple.run(field, key, Number(low), doc, n)
    for (const [field, latitude, longitude] of points) this.#statements.point.run(field, latitude, longitude, doc)
    this.#statements.sorting.run(doc)
  }

  #insert(table: 'posting' | 'span' | 'tuple' | 'point' | 'sorting', columns: number, rows: readonly (readonly SQLInputValue[])[]): void {
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
      statement = this.#db.prepare(`INSERT OR IGNORE INTO ${table} VALUES ${Array(rows).fill(row).join(', ')}`)
      this.#insertions.set(name, statement)
    }
    return statement
  }

  #fieldOf(kind: number, name: string): number {
    let fields = this.#fields.get(kind)
    if (fields === undefined) {
      fields = new Map()
      this.#fields.set(kind, fields)
    }
    let field = fields.get(name)
    if (field === undefined) {
      const row = this.#statements.field.get(kind, name) as { readonly field: number } | undefined
      field = row?.field ?? Number(this.#statements.addField.run(kind, name).lastInsertRowid)
      fields.set(name, field)
    }
    return field
  }

  /** Some document has several intervals of the field. */
  #several(field: number): void {
    if (this.#marked.has(field)) return
    this.#statements.several.run(field)
    this.#marked.add(field)
  }

  #kindOf(tenant: string, type: string): number {
    const key = `${tenant} ${type}`
    let kind = this.#kinds.get(key)
    if (kind === undefined) {
      const row = this.#statements.kind.get(tenant, type) as { readonly kind: number } | undefined
      kind = row?.kind ?? Number(this.#statements.addKind.run(tenant, type).lastInsertRowid)
      this.#kinds.set(key, kind)
    }
    return kind
  }
}

/** Labels stand between line breaks, so that one is found whole or by its beginning. */
const tupleRow = (field: number, doc: number, n: number, { key, labels, ranges: [one, two] }: Tuple): TupleRow => [
  field,
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
