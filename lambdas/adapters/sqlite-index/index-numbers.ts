/**
 * Assigns numbers to kinds (resource types of a tenant), to fields, and to combinations of fields. A number is stored on first use, then
 * cached.
 */
import type { DatabaseSync, StatementResultingChanges } from 'node:sqlite'

/**
 * Maximum combinations of several fields per kind. A search of one field reads all combinations that contain it, so their number is
 * limited. Once it is reached, a value in another set of fields gets one posting per field instead.
 */
const MOST_COMBINATIONS = 200
/** Maximum cached field sets of all kinds. One more clears them all. A kind with similar documents needs a few hundred. */
const MOST_SETS = 50_000

/** Returns the number of a field of one kind by the field's name. Creates the number if the field has none. */
export type FieldNumbers = (name: string) => number

/** Numbers of the fields of a document that contain the same value, in the order in which the writer finds them. */
export type FieldSet = {
  readonly fields: readonly number[]
  /** Cached larger sets, each with the fields of this set and one more. Key: the number of that field. */
  readonly wider: Map<number, FieldSet>
  combinations: readonly number[] | undefined
}

export class IndexNumbers {
  readonly #statements
  readonly #kinds = new Map<string, Map<string, number>>()
  readonly #fields = new Map<number, FieldNumbers>()
  readonly #sizes = new Map<number, number>()
  #noFields = newSet([])
  #sets = 0
  #changes = 0

  constructor(db: DatabaseSync) {
    this.#statements = {
      kind: db.prepare('SELECT kind FROM kind WHERE tenant = ? AND type = ?'),
      addKind: db.prepare('INSERT INTO kind (tenant, type) VALUES (?, ?)'),
      field: db.prepare('SELECT field FROM field WHERE kind = ? AND name = ?'),
      addField: db.prepare('INSERT INTO field (kind, name) VALUES (?, ?)'),
      combination: db.prepare('SELECT combination FROM combination WHERE fields = ?'),
      addCombination: db.prepare('INSERT INTO combination (kind, fields) VALUES (?, ?)'),
      combine: db.prepare('INSERT INTO combined VALUES (?, ?)'),
      size: db.prepare("SELECT count(*) AS size FROM combination WHERE kind = ? AND fields LIKE '% %'"),
    }
  }

  /** Counter that changes when a number is created, and when `reset` is called. */
  get changes(): number {
    return this.#changes
  }

  /** Clears all caches. Must be called after a rollback, because they may contain numbers that were rolled back. */
  reset(): void {
    this.#changes++
    for (const known of [this.#kinds, this.#fields, this.#sizes]) known.clear()
    this.#forgetSets()
  }

  kindOf(tenant: string, type: string): number {
    const kinds = within(this.#kinds, tenant)
    let kind = kinds.get(type)
    if (kind === undefined) {
      const row = this.#statements.kind.get(tenant, type) as { readonly kind: number } | undefined
      kind = row?.kind ?? this.#made(this.#statements.addKind.run(tenant, type))
      kinds.set(type, kind)
    }
    return kind
  }

  fieldsOf(kind: number): FieldNumbers {
    let fields = this.#fields.get(kind)
    if (fields === undefined) {
      const known = new Map<string, number>()
      fields = (name) => known.get(name) ?? this.#fieldOf(kind, name, known)
      this.#fields.set(kind, fields)
    }
    return fields
  }

  /**
   * Returns the cached set with the fields of `before` and `field`. Without `before` it has `field` only. A repetition of the last field is
   * ignored.
   */
  together(before: FieldSet | undefined, field: number): FieldSet {
    const set = before ?? this.#noFields
    if (set.fields.at(-1) === field) return set
    let wider = set.wider.get(field)
    if (wider === undefined) {
      if (++this.#sets > MOST_SETS) this.#forgetSets()
      wider = newSet([...set.fields, field])
      set.wider.set(field, wider)
    }
    return wider
  }

  /** Returns the number of the combination of all fields, or, if MOST_COMBINATIONS is reached, one number for each single field. */
  combinationsOf(kind: number, set: FieldSet): readonly number[] {
    if (set.combinations === undefined) {
      const one = this.#combinationOf(kind, set.fields)
      set.combinations = one === undefined ? set.fields.map((field) => this.#combinationOf(kind, [field])!) : [one]
    }
    return set.combinations
  }

  #fieldOf(kind: number, name: string, known: Map<string, number>): number {
    const row = this.#statements.field.get(kind, name) as { readonly field: number } | undefined
    const field = row?.field ?? this.#made(this.#statements.addField.run(kind, name))
    known.set(name, field)
    return field
  }

  #made({ lastInsertRowid }: StatementResultingChanges): number {
    this.#changes++
    return Number(lastInsertRowid)
  }

  #forgetSets(): void {
    this.#noFields = newSet([])
    this.#sets = 0
  }

  #combinationOf(kind: number, fields: readonly number[]): number | undefined {
    const text = fields.toSorted((a, b) => a - b).join(' ')
    const row = this.#statements.combination.get(text) as { readonly combination: number } | undefined
    return row?.combination ?? this.#combine(kind, fields, text)
  }

  #combine(kind: number, fields: readonly number[], text: string): number | undefined {
    if (fields.length > 1) {
      const size = this.#sizes.get(kind) ?? (this.#statements.size.get(kind) as { readonly size: number }).size
      if (size === MOST_COMBINATIONS) return undefined
      this.#sizes.set(kind, size + 1)
    }
    const combination = this.#made(this.#statements.addCombination.run(kind, text))
    for (const field of new Set(fields)) this.#statements.combine.run(field, combination)
    return combination
  }
}

const newSet = (fields: readonly number[]): FieldSet => ({ fields, wider: new Map(), combinations: undefined })

function within<Key>(known: Map<Key, Map<string, number>>, key: Key): Map<string, number> {
  let inner = known.get(key)
  if (inner === undefined) {
    inner = new Map()
    known.set(key, inner)
  }
  return inner
}
