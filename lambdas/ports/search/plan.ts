/**
 * The search plan: a FHIR search after all FHIR rules have been applied. Search indices receive only these shapes. Strings are compared by
 * code point; intervals are half-open; `low` and `high` of spans are milliseconds since 1970, ±Infinity where open.
 */

export type Predicate =
  | { readonly kind: 'all' | 'some'; readonly of: readonly Predicate[] }
  | { readonly kind: 'not'; readonly of: Predicate }
  /** Some key of the field is one of these. */
  | { readonly kind: 'key'; readonly field: string; readonly oneOf: readonly string[] }
  /** Some key of the field lies in [from, to). Without `to` the range has no upper end. */
  | { readonly kind: 'keyRange'; readonly field: string; readonly from: string; readonly to?: string }
  /** Some key of the field contains `text`. */
  | { readonly kind: 'contains'; readonly field: string; readonly text: string }
  /**
   * Some interval of the field lies within [low, high), or intersects it. A number may be a point (low = high): both relations then mean
   * low ≤ x < high.
   */
  | (RangeTest & { readonly field: string })
  | { readonly kind: 'near'; readonly field: string; readonly latitude: number; readonly longitude: number; readonly metres: number }
  /** The parameter has a value. */
  | { readonly kind: 'present'; readonly field: string }
  /**
   * One entry of the field has this key (absent: any) and all these labels, and each of its intervals passes the test at the same index.
   */
  | {
      readonly kind: 'tuple'
      readonly field: string
      readonly key?: string
      readonly labels: readonly LabelTest[]
      readonly ranges: readonly RangeTest[]
    }
  | { readonly kind: 'compartment'; readonly oneOf: readonly string[] }

/** `whole`: some label equals the text; otherwise some label begins with it. */
export type LabelTest = { readonly text: string; readonly whole: boolean }

/** Test of an interval in a `span` or `number` field. An interval of a `number` may be a point. */
export type RangeTest = {
  readonly kind: 'span' | 'number'
  readonly relation: 'within' | 'intersects'
  readonly low: number
  readonly high: number
}

export type SortKey = { readonly field: string; readonly descending: boolean }

/** Position of a hit in the sorted results: its sort values, then its type and id. The next page continues after the last one. */
export type HitPosition = { readonly values: readonly (string | number | null)[]; readonly type: string; readonly id: string }

/** Resources that the caller may see, by type. A type without a rule is hidden. */
export type AccessRules = 'everything' | Readonly<Record<string, Predicate>>

/** Selection of resources, without sorting and paging. */
export type Matching = {
  readonly tenant: string
  readonly types: readonly string[]
  readonly where: Predicate
  /** Restricts `where` to the resources that the caller may see. */
  readonly access: AccessRules
}

/** Everything that one lookup in the index depends on. `field`: field of the groups, or of the values that it collects. */
export type SearchSubject = Matching & { readonly order?: readonly SortKey[]; readonly field?: string }

/** Returns only the selection. The result type requires every part: a new one does not compile until it is copied here. */
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

/** Returns the access rules of the types, each once. */
export const rulesOf = ({ types, access }: Pick<Matching, 'types' | 'access'>): readonly Predicate[] =>
  access === 'everything' ? [] : [...new Set(types.map((type) => ruleOf(access, type)))]

export const ruleOf = (access: AccessRules, type: string): Predicate =>
  access === 'everything' ? ALWAYS_TRUE : (access[type] ?? ALWAYS_FALSE)

/** `eventual`: the index answers from its current state, without waiting until it has caught up. */
export type Freshness = { readonly eventual?: true }

export type Plan = Matching &
  Freshness & {
    /** Ties are sorted by type, then id; so is everything if the order is empty. Missing values come last, ascending and descending. */
    readonly order: readonly SortKey[]
    readonly limit: number
    readonly after?: HitPosition
    readonly skip?: number
    /** `estimate`: exact up to 10,000, absent above. */
    readonly total: 'none' | 'estimate' | 'accurate'
    /** Whether the result also reports how current the index is (ports/search/heartbeat.ts). */
    readonly pulse?: true
  }

/** Position at the end of a page of groups: the first hit of its last group, and the key of that group. */
export type GroupPosition = { readonly position: HitPosition; readonly key: string }

/** Maximum groups that a search counts. */
export const MAX_GROUPS = 65_535

export type GroupPlan = Matching &
  Freshness & {
    /** Field in `IndexDocument.groups`. */
    readonly field: string
    /** Order of the hits in each group. Groups are sorted by their first hits, and groups with the same first hit by their keys. */
    readonly order: readonly SortKey[]
    /** Maximum hits of each group, at least one. */
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
/** Returns the conditions that must all hold. */
export const conjunctsOf = (p: Predicate): readonly Predicate[] => (p.kind === 'all' ? p.of.flatMap(conjunctsOf) : [p])
export const not = (of: Predicate): Predicate => ({ kind: 'not', of })

/** Compares by code point, because indices compare UTF-8. */
export function compareText(a: string, b: string): number {
  const end = Math.min(a.length, b.length)
  for (let i = 0; i < end; i++) {
    const x = a.charCodeAt(i)
    const y = b.charCodeAt(i)
    if (x !== y) return codePointOrder(x) - codePointOrder(y)
  }
  return a.length - b.length
}

/** Moves surrogates above all other code units: they encode the highest code points. */
const codePointOrder = (unit: number): number => (unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit)

/** Returns a negative number if `a` comes before `b`. */
export function comparePositions(a: HitPosition, b: HitPosition, order: readonly SortKey[]): number {
  for (let i = 0; i < order.length; i++) {
    const compared = compareValues(a.values[i] ?? null, b.values[i] ?? null, order[i]!.descending)
    if (compared !== 0) return compared
  }
  return compareText(a.type, b.type) || compareText(a.id, b.id)
}

/** Sorts missing values last, ascending and descending. */
function compareValues(a: string | number | null, b: string | number | null, descending: boolean): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null)
  const compared = typeof a === 'number' && typeof b === 'number' ? a - b : compareText(String(a), String(b))
  return descending ? -compared : compared
}

const EARTH = 6_371_008.8

/** Returns the haversine distance on a sphere with the Earth's mean radius, in metres. */
export function metresBetween(
  a: readonly [latitude: number, longitude: number],
  b: readonly [latitude: number, longitude: number],
): number {
  const rad = Math.PI / 180
  const h =
    Math.sin(((b[0] - a[0]) * rad) / 2) ** 2 + Math.cos(a[0] * rad) * Math.cos(b[0] * rad) * Math.sin(((b[1] - a[1]) * rad) / 2) ** 2
  return 2 * EARTH * Math.asin(Math.min(1, Math.sqrt(h)))
}
