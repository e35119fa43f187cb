/** Numbers for kinds, fields and combinations of fields. They are created on first use and then cached. */
import type { DatabaseSync, StatementResultingChanges } from 'node:sqlite'

/**
 * Maximum combinations of several fields per kind. Beyond it, a value gets one posting per field, because a search of a field reads all its
 * combinations.
 */
const MOST_COMBINATIONS = 200
/** Maximum cached field sets. A kind with similar documents needs a few hundred. */
const MOST_SETS = 50_000

/** Returns the number of a field of a kind by name. */
export type FieldNumbers = (name: string) => number

/** Fields that contain a value, in the order in which the writer adds them. */
export type FieldSet = {
  readonly fields: readonly number[]
  /** Sets with one more field, by that field. */
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

  /** Counter that changes when a number is created or rolled back. */
  get changes(): number {
    return this.#changes
  }

  /** Clears all caches after a rollback. */
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

  /** Returns the set with one more field. `before` undefined: the set of that field alone. */
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

  /** Returns one combination of all fields, or one per field if the limit of combinations is reached. */
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
