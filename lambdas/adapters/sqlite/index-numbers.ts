/** The numbers that stand for kinds, fields and combinations of fields in the index: made when first met, then known by heart. */
import type { DatabaseSync } from 'node:sqlite'

/** Of a kind. In more the values get a row for each of their fields: a search of a field asks for all its combinations. */
const MOST_COMBINATIONS = 200

export class IndexNumbers {
  readonly #statements
  readonly #kinds = new Map<string, number>()
  readonly #fields = new Map<number, Map<string, number>>()
  readonly #combinations = new Map<string, number>()
  readonly #sizes = new Map<number, number>()
  readonly #marked = new Set<number>()

  constructor(db: DatabaseSync) {
    this.#statements = {
      kind: db.prepare('SELECT kind FROM kind WHERE tenant = ? AND type = ?'),
      addKind: db.prepare('INSERT INTO kind (tenant, type) VALUES (?, ?)'),
      field: db.prepare('SELECT field FROM field WHERE kind = ? AND name = ?'),
      addField: db.prepare('INSERT INTO field (kind, name) VALUES (?, ?)'),
      several: db.prepare('UPDATE field SET several = 1 WHERE field = ?'),
      combination: db.prepare('SELECT combination FROM combination WHERE fields = ?'),
      addCombination: db.prepare('INSERT INTO combination (kind, fields) VALUES (?, ?)'),
      combine: db.prepare('INSERT INTO combined VALUES (?, ?)'),
      size: db.prepare("SELECT count(*) AS size FROM combination WHERE kind = ? AND fields LIKE '% %'"),
    }
  }

  /** Forgets everything: the transaction was rolled back. */
  reset(): void {
    for (const known of [this.#kinds, this.#fields, this.#combinations, this.#sizes, this.#marked]) known.clear()
  }

  kindOf(tenant: string, type: string): number {
    const key = `${tenant} ${type}`
    let kind = this.#kinds.get(key)
    if (kind === undefined) {
      const row = this.#statements.kind.get(tenant, type) as { readonly kind: number } | undefined
      kind = row?.kind ?? Number(this.#statements.addKind.run(tenant, type).lastInsertRowid)
      this.#kinds.set(key, kind)
    }
    return kind
  }

  fieldOf(kind: number, name: string): number {
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
  several(field: number): void {
    if (this.#marked.has(field)) return
    this.#statements.several.run(field)
    this.#marked.add(field)
  }

  /** One combination of all of these fields, or each alone. The fields are in the order in which they were met. */
  combinationsOf(kind: number, fields: readonly number[]): readonly number[] {
    const one = this.#combinationOf(kind, fields)
    return one === undefined ? fields.map((field) => this.#combinationOf(kind, [field])!) : [one]
  }

  #combinationOf(kind: number, fields: readonly number[]): number | undefined {
    const text = inOrder(fields).join(' ')
    let combination = this.#combinations.get(text)
    if (combination === undefined) {
      const row = this.#statements.combination.get(text) as { readonly combination: number } | undefined
      combination = row?.combination ?? this.#combine(kind, fields, text)
      if (combination !== undefined) this.#combinations.set(text, combination)
    }
    return combination
  }

  #combine(kind: number, fields: readonly number[], text: string): number | undefined {
    if (fields.length > 1) {
      const size = this.#sizes.get(kind) ?? (this.#statements.size.get(kind) as { readonly size: number }).size
      if (size === MOST_COMBINATIONS) return undefined
      this.#sizes.set(kind, size + 1)
    }
    const combination = Number(this.#statements.addCombination.run(kind, text).lastInsertRowid)
    for (const field of fields) this.#statements.combine.run(field, combination)
    return combination
  }
}

/** Mostly they are: fields are met in the order of their parameters. */
const inOrder = (fields: readonly number[]): readonly number[] =>
  fields.every((field, i) => i === 0 || fields[i - 1]! < field) ? fields : fields.toSorted((a, b) => a - b)
