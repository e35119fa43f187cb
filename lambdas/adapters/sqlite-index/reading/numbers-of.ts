/** Cache of the numbers of kinds and fields for searches. It is cleared when the index creates a number or rolls one back. */
import type { Statements } from '../statements.ts'
import type { KindNumbers } from './compile-plan.ts'

/** Resource type of a tenant. `kind`: its number in the index. */
export type Kind = { readonly kind: number; readonly type: string }

/** Maximum tenants, and maximum kinds, in the cache. One more clears it. */
const MOST_KNOWN = 1_000

export class KindNumbersCache {
  readonly #statements: Statements
  readonly #changes: () => number
  readonly #kinds = new Map<string, readonly Kind[]>()
  readonly #numbers = new Map<number, KindNumbers>()
  #known = 0

  /** `changes`: must return another value after numbers were created or rolled back. */
  constructor(statements: Statements, changes: () => number) {
    this.#statements = statements
    this.#changes = changes
  }

  /** Returns the kinds of a tenant, sorted by type. */
  kinds(tenant: string): readonly Kind[] {
    return this.#once(this.#kinds, tenant, () => {
      const rows = this.#statements.prepare('SELECT kind, type FROM kind WHERE tenant = ?').all(tenant) as unknown as Kind[]
      return rows.sort((a, b) => (a.type < b.type ? -1 : 1))
    })
  }

  of(kind: number): KindNumbers {
    return this.#once(this.#numbers, kind, () => numbersOf(kind, this.#statements))
  }

  #once<Key, Value>(known: Map<Key, Value>, key: Key, ask: () => Value): Value {
    if (this.#known !== this.#changes() || (known.size === MOST_KNOWN && !known.has(key))) {
      this.#kinds.clear()
      this.#numbers.clear()
      this.#known = this.#changes()
    }
    return once(known, key, ask)
  }
}

function numbersOf(kind: number, statements: Statements): KindNumbers {
  const ofField = statements.prepare('SELECT field FROM field WHERE kind = ? AND name = ?')
  const ofCombinations = statements.prepare('SELECT combination FROM combined WHERE field = ?')
  const askField = (name: string): number | undefined => (ofField.get(kind, name) as { readonly field: number } | undefined)?.field
  const combined = (number: number | undefined): readonly number[] =>
    number === undefined ? [] : ofCombinations.all(number).map((each) => (each as { readonly combination: number }).combination)
  const [fields, combinations, presence] = [new Map<string, number | undefined>(), new Map(), new Map()]
  const field = (name: string): number | undefined => once(fields, name, () => askField(name))
  return {
    kind,
    field,
    combinations: (name) => once(combinations, name, () => combined(field(name))),
    presence: (name) => once(presence, name, () => combined(field(name) && -field(name)!)),
  }
}

/** Returns the cached value of the key. Calls `ask` and caches its result if there is none. */
function once<Key, Value>(known: Map<Key, Value>, key: Key, ask: () => Value): Value {
  if (!known.has(key)) known.set(key, ask())
  return known.get(key)!
}
