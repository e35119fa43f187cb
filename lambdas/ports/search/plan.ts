/**
 * The search plan: what a FHIR search means once every FHIR rule has been applied. Back ends receive only these shapes.
 * Strings are compared by code point; intervals are half-open; `low` and `high` of spans are milliseconds since 1970, ±Infinity where open.
 */

export type Predicate =
  | { readonly kind: 'all' | 'some'; readonly of: readonly Predicate[] }
  | { readonly kind: 'not'; readonly of: Predicate }
  /** Some key of the field is one of these. */
  | { readonly kind: 'key'; readonly field: string; readonly oneOf: readonly string[] }
  /** Some key of the field lies in [from, to); no `to`: up to the end. */
  | { readonly kind: 'keyRange'; readonly field: string; readonly from: string; readonly to?: string }
  /** Some key of the field has `text` in it. */
  | { readonly kind: 'contains'; readonly field: string; readonly text: string }
  /** Some interval of the field lies within, or has a point in common with, [low, high). A number is a point: low = high, within and intersects then mean low ≤ x < high. */
  | (RangeTest & { readonly field: string })
  | { readonly kind: 'near'; readonly field: string; readonly latitude: number; readonly longitude: number; readonly metres: number }
  /** The parameter had a value. */
  | { readonly kind: 'present'; readonly field: string }
  /** One entry of the field has this key (absent: any), all these labels, and each of its intervals passes the test of its place. */
  | {
      readonly kind: 'tuple'
      readonly field: string
      readonly key?: string
      readonly labels: readonly LabelTest[]
      readonly ranges: readonly RangeTest[]
    }
  | { readonly kind: 'compartment'; readonly oneOf: readonly string[] }

/** `whole`: some label is the text; else some label begins with it. */
export type LabelTest = { readonly text: string; readonly whole: boolean }

/** As of `span` and `number`; an interval of a `number` may be a point. */
export type RangeTest = {
  readonly kind: 'span' | 'number'
  readonly relation: 'within' | 'intersects'
  readonly low: number
  readonly high: number
}

export type SortKey = { readonly field: string; readonly descending: boolean }

/** The sort values of the last hit of a page, then its type and id. */
export type HitPosition = { readonly values: readonly (string | number | null)[]; readonly type: string; readonly id: string }

/** What of each type may be found: of a type that is not named, nothing. */
export type AccessRules = 'everything' | Readonly<Record<string, Predicate>>

/** What is looked for, without how it is shown. */
export type Matching = {
  readonly tenant: string
  readonly types: readonly string[]
  readonly where: Predicate
  /** Narrows `where`: of who asks. */
  readonly access: AccessRules
}

/** The subject of one lookup in the index. `field`: the field of groups or of a stage. */
export type SearchSubject = Matching & { readonly order?: readonly SortKey[]; readonly field?: string }

/** Nothing but what is looked for. Every part has its name here: one that is added does not compile until it has. */
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

/** What resources of a type must meet. */
export function predicateOf({ where, access }: Pick<Matching, 'where' | 'access'>, type: string): Predicate {
  const rule = ruleOf(access, type)
  return isAlwaysTrue(rule) ? where : and(where, rule)
}

/** Each once. */
export const rulesOf = ({ types, access }: Pick<Matching, 'types' | 'access'>): readonly Predicate[] =>
  access === 'everything' ? [] : [...new Set(types.map((type) => ruleOf(access, type)))]

export const ruleOf = (access: AccessRules, type: string): Predicate =>
  access === 'everything' ? ALWAYS_TRUE : (access[type] ?? ALWAYS_FALSE)

/** `eventual`: what is known by now is enough, where an index would wait until it has come further. */
export type Freshness = { readonly eventual?: true }

export type Plan = Matching &
  Freshness & {
    /** Ties, and everything when empty, are in the order of type, then id. Missing values stand last, ascending and descending. */
    readonly order: readonly SortKey[]
    readonly limit: number
    readonly after?: HitPosition
    readonly skip?: number
    /** `estimate`: exact up to 10,000, absent above. */
    readonly total: 'none' | 'estimate' | 'accurate'
    /** Whether it is also asked what is in the index for certain (ports/search/heartbeat.ts). */
    readonly pulse?: true
  }

/** Where a page of groups ended: the first hit of its last group, and that group's key. */
export type GroupPosition = { readonly position: HitPosition; readonly key: string }

export type GroupPlan = Matching &
  Freshness & {
    /** Of IndexDocument.groups. */
    readonly field: string
    /** The order of the hits in each group. Groups stand in the order of their first hits, and those with the same one in that of their keys. */
    readonly order: readonly SortKey[]
    /** Hits of each group, at least one. */
    readonly hits: number
    /** Groups. */
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
/** The conditions that must all hold. */
export const conjunctsOf = (p: Predicate): readonly Predicate[] => (p.kind === 'all' ? p.of.flatMap(conjunctsOf) : [p])
export const not = (of: Predicate): Predicate => ({ kind: 'not', of })

/** By code point, as indexes compare UTF-8. */
export function compareText(a: string, b: string): number {
  const end = Math.min(a.length, b.length)
  for (let i = 0; i < end; i++) {
    const x = a.charCodeAt(i)
    const y = b.charCodeAt(i)
    if (x !== y) return codePointOrder(x) - codePointOrder(y)
  }
  return a.length - b.length
}

/** Surrogates stand for characters above all others. */
const codePointOrder = (unit: number): number => (unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit)

/** Negative when `a` stands before `b`. */
export function comparePositions(a: HitPosition, b: HitPosition, order: readonly SortKey[]): number {
  for (let i = 0; i < order.length; i++) {
    const compared = compareValues(a.values[i] ?? null, b.values[i] ?? null, order[i]!.descending)
    if (compared !== 0) return compared
  }
  return compareText(a.type, b.type) || compareText(a.id, b.id)
}

/** Missing values last, ascending and descending. */
function compareValues(a: string | number | null, b: string | number | null, descending: boolean): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null)
  const compared = typeof a === 'number' && typeof b === 'number' ? a - b : compareText(String(a), String(b))
  return descending ? -compared : compared
}

const EARTH = 6_371_008.8

/** Haversine, on a sphere of the Earth's mean radius in metres. */
export function metresBetween(
  a: readonly [latitude: number, longitude: number],
  b: readonly [latitude: number, longitude: number],
): number {
  const rad = Math.PI / 180
  const h =
    Math.sin(((b[0] - a[0]) * rad) / 2) ** 2 + Math.cos(a[0] * rad) * Math.cos(b[0] * rad) * Math.sin(((b[1] - a[1]) * rad) / 2) ** 2
  return 2 * EARTH * Math.asin(Math.min(1, Math.sqrt(h)))
}
