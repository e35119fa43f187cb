/**
 * Search plan: a FHIR search after all FHIR rules have been applied. Search indexes receive only these shapes. Strings are compared by code
 * point. Intervals include `low` and exclude `high`. In a `span` both are milliseconds since 1970, ±Infinity if the interval is open.
 */

export type Predicate =
  | { readonly kind: 'all' | 'some'; readonly of: readonly Predicate[] }
  | { readonly kind: 'not'; readonly of: Predicate }
  /** At least one key of the field is in `oneOf`. */
  | { readonly kind: 'key'; readonly field: string; readonly oneOf: readonly string[] }
  /** At least one key of the field is ≥ `from` and < `to`. Without `to` the range has no upper end. */
  | { readonly kind: 'keyRange'; readonly field: string; readonly from: string; readonly to?: string }
  /** At least one key of the field contains `text`. */
  | { readonly kind: 'contains'; readonly field: string; readonly text: string }
  /**
   * At least one interval of the field lies within [low, high), or intersects it, by `relation`. If an interval of a number is a point x,
   * both relations mean low ≤ x < high.
   */
  | (RangeTest & { readonly field: string })
  | { readonly kind: 'near'; readonly field: string; readonly latitude: number; readonly longitude: number; readonly metres: number }
  /** The search parameter `field` has a value. */
  | { readonly kind: 'present'; readonly field: string }
  /**
   * At least one entry of the field has this key (absent: any key) and all these labels, and its interval number i passes `ranges[i]`, for
   * each i.
   */
  | {
      readonly kind: 'tuple'
      readonly field: string
      readonly key?: string
      readonly labels: readonly LabelTest[]
      readonly ranges: readonly RangeTest[]
    }
  | { readonly kind: 'compartment'; readonly oneOf: readonly string[] }

/** Test of the labels of an entry. `whole`: a label equals the text; otherwise a label begins with it. */
export type LabelTest = { readonly text: string; readonly whole: boolean }

/** Test of an interval in a `span` or `number` field. An interval of a `number` may be a point, with equal ends. */
export type RangeTest = {
  readonly kind: 'span' | 'number'
  readonly relation: 'within' | 'intersects'
  readonly low: number
  readonly high: number
}

export type SortKey = { readonly field: string; readonly descending: boolean }

/**
 * Position of a hit in the sorted results: its sort values, then its type and id. The next page begins after the position of the last hit.
 */
export type HitPosition = { readonly values: readonly (string | number | null)[]; readonly type: string; readonly id: string }

/** Predicate for the resources that the caller may see, by type. All resources of a type without a predicate are hidden. */
export type AccessRules = 'everything' | Readonly<Record<string, Predicate>>

/** Resources that a search selects, without sorting and paging. */
export type Matching = {
  readonly tenant: string
  readonly types: readonly string[]
  readonly where: Predicate
  /** Restricts `where` to the resources that the caller may see. */
  readonly access: AccessRules
}

/**
 * Everything that a lookup in the index depends on: the selection, its sort keys, and `field`, by which it groups or from which it collects
 * values.
 */
export type SearchSubject = Matching & { readonly order?: readonly SortKey[]; readonly field?: string }

/**
 * Returns the selection of a plan, without its other properties. The result type requires every property of Matching: a new one does not
 * compile until it is copied here.
 */
export const matchingOf = ({
  tenant,
  types,
  where,
  access,
}: Matching): { readonly [Part in keyof Required<Matching>]: Matching[Part] } => ({
  tenant,
  types,
  where,
  access,
})

/** Returns the predicate that resources of a type must match: the criteria and the caller's access. */
export function predicateOf({ where, access }: Pick<Matching, 'where' | 'access'>, type: string): Predicate {
  const rule = ruleOf(access, type)
  return isAlwaysTrue(rule) ? where : and(where, rule)
}

/** Returns the access rules of the types without duplicates, or none if the caller may see everything. */
export const rulesOf = ({ types, access }: Pick<Matching, 'types' | 'access'>): readonly Predicate[] =>
  access === 'everything' ? [] : [...new Set(types.map((type) => ruleOf(access, type)))]

export const ruleOf = (access: AccessRules, type: string): Predicate =>
  access === 'everything' ? ALWAYS_TRUE : (access[type] ?? ALWAYS_FALSE)

/**
 * `eventual`: the index answers from its current state, without waiting until it has caught up with the store. `budget`: milliseconds that the
 * lookup may take, if the index allows more. Above it the index throws the fault `too-costly`.
 */
export type Freshness = { readonly eventual?: true; readonly budget?: number }

export type Plan = Matching &
  Freshness & {
    /**
     * Sort keys of the hits. Ties are sorted by type, then id, and so are all hits without sort keys. Missing values come last, whether
     * ascending or descending.
     */
    readonly order: readonly SortKey[]
    readonly limit: number
    readonly after?: HitPosition
    readonly skip?: number
    /** Whether the result has the number of matches. `estimate`: exact up to 10,000, absent above. `accurate`: always exact. */
    readonly total: 'none' | 'estimate' | 'accurate'
    /** Whether the result also has the time of the heartbeat that the index holds (heartbeat.ts). */
    readonly pulse?: true
    /** Whether `where` has keys that other lookups in the index returned. Such a search covers no more than the index. */
    readonly isChained?: true
  }

/** Position at the end of a page of groups: the first hit of the last group, and the key of that group. */
export type GroupPosition = { readonly position: HitPosition; readonly key: string }

/** Maximum groups that a search counts. More groups throw the fault `too-many-groups`. */
export const MAX_GROUPS = 65_535

export type GroupPlan = Matching &
  Freshness & {
    /** Field of `IndexDocument.groups` by which hits are grouped. */
    readonly field: string
    /** Sort keys of the hits in each group. Groups are sorted by their first hits, and groups with the same first hit by their keys. */
    readonly order: readonly SortKey[]
    /** Maximum hits that are returned of each group, at least one. */
    readonly hits: number
    /** Maximum groups of the page. */
    readonly limit: number
    readonly after?: GroupPosition
    readonly skip?: number
  }

export const ALWAYS_TRUE: Predicate = { kind: 'all', of: [] }
export const ALWAYS_FALSE: Predicate = { kind: 'some', of: [] }
export const isAlwaysTrue = (p: Predicate): boolean => p.kind === 'all' && p.of.length === 0
export const isAlwaysFalse = (p: Predicate): boolean => p.kind === 'some' && p.of.length === 0

export const and = (...of: readonly Predicate[]): Predicate => (of.length === 1 ? of[0]! : { kind: 'all', of })
export const or = (...of: readonly Predicate[]): Predicate => (of.length === 1 ? of[0]! : { kind: 'some', of })
/** Returns the predicates whose conjunction is `p`, nested ones included. */
export const conjunctsOf = (p: Predicate): readonly Predicate[] => (p.kind === 'all' ? p.of.flatMap(conjunctsOf) : [p])
export const not = (of: Predicate): Predicate => ({ kind: 'not', of })

/** Returns the fields that the predicate tests, in its order. A field that it tests twice is returned twice. */
export function fieldsOf(p: Predicate): readonly string[] {
  switch (p.kind) {
    case 'all':
    case 'some':
      return p.of.flatMap(fieldsOf)
    case 'not':
      return fieldsOf(p.of)
    case 'compartment':
      return []
    default:
      return [p.field]
  }
}

/** Compares texts by code point, as indexes do, which compare UTF-8 bytes. */
export function compareText(a: string, b: string): number {
  const end = Math.min(a.length, b.length)
  for (let i = 0; i < end; i++) {
    const x = a.charCodeAt(i)
    const y = b.charCodeAt(i)
    if (x !== y) return codePointOrder(x) - codePointOrder(y)
  }
  return a.length - b.length
}

/** Returns a number by which UTF-16 code units sort as code points. Surrogates come last, because they encode the highest code points. */
const codePointOrder = (unit: number): number => (unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit)

/** Compares positions in sorted results. Returns a negative number if `a` comes before `b`. */
export function comparePositions(a: HitPosition, b: HitPosition, order: readonly SortKey[]): number {
  for (let i = 0; i < order.length; i++) {
    const compared = compareValues(a.values[i] ?? null, b.values[i] ?? null, order[i]!.descending)
    if (compared !== 0) return compared
  }
  return compareText(a.type, b.type) || compareText(a.id, b.id)
}

/** Compares sort values. Missing values come last, whether ascending or descending. */
function compareValues(a: string | number | null, b: string | number | null, descending: boolean): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null)
  const compared = typeof a === 'number' && typeof b === 'number' ? a - b : compareText(String(a), String(b))
  return descending ? -compared : compared
}

const EARTH = 6_371_008.8

/**
 * Returns the great-circle distance in metres, on a sphere with the Earth's mean radius. https://en.wikipedia.org/wiki/Haversine_formula
 */
export function metresBetween(
  a: readonly [latitude: number, longitude: number],
  b: readonly [latitude: number, longitude: number],
): number {
  const rad = Math.PI / 180
  const h =
    Math.sin(((b[0] - a[0]) * rad) / 2) ** 2 + Math.cos(a[0] * rad) * Math.cos(b[0] * rad) * Math.sin(((b[1] - a[1]) * rad) / 2) ** 2
  return 2 * EARTH * Math.asin(Math.min(1, Math.sqrt(h)))
}
