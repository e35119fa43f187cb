/** Random index documents and plans over them, the same for the same seed. Few values, so that they meet. */
import type { AccessRules, GroupPlan, Plan, Predicate, RangeTest, SortKey } from '../../lambdas/ports/search/plan.ts'
import type { IndexDocument, Tuple } from '../../lambdas/ports/search/search-index.ts'
import { document } from './index-document.ts'

export type Random = { readonly below: (n: number) => number; readonly pick: <T>(of: readonly T[]) => T }

/** mulberry32. */
export function randomOf(seed: number): Random {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
  const below = (n: number): number => Math.floor(next() * n)
  return { below, pick: (of) => of[below(of.length)]! }
}

export const TENANTS = ['one', 'two'] as const
export const TYPES = ['Observation', 'Patient'] as const
const FIELDS = ['a', 'a:code', 'b', 'c'] as const
/** Wildcards, quotes, case, an accent, characters below and above the surrogates, a component separator, one key the beginning of another. */
const KEYS = ['', 'x', 'X', 'xy', 'x|y', 'x%', 'x_', "x'", 'é', 'e\u0301', '\uffee', '\u{1f600}', 'x\u0000y', 'x\u0000z', 's|x'] as const
const INSTANTS = [Number.NEGATIVE_INFINITY, -1_000, 0, 1_000, 2_000, 2_001, 1_600_000_000_000, Number.POSITIVE_INFINITY] as const
const NUMBERS = [-1.5, 0, 0.1, 0.30000000000000004, 2, 1e300] as const
const LABELS = ['a', 'ab', 'a%', "b'"] as const
const POINTS = [
  [0, 0],
  [0, 0.001],
  [52.5, 13.4],
  [-17, 179.999],
  [-17, -179.999],
] as const
const COMPARTMENTS = ['Patient/1', 'Patient/2'] as const

export function documentsOf(random: Random, howMany: number): readonly IndexDocument[] {
  return Array.from({ length: howMany }, () => {
    const deleted = random.below(8) === 0
    const id = { tenant: random.pick(TENANTS), type: random.pick(TYPES), id: `${random.below(howMany / 2)}` }
    return document({ ...id, version: 1 + random.below(4), deleted, ...(deleted ? {} : contentOf(random)) })
  })
}

/** One content for a version: two documents of one version are the same document. */
export function versionsOf(documents: readonly IndexDocument[]): readonly IndexDocument[] {
  const byVersion = new Map<string, IndexDocument>()
  for (const each of documents) byVersion.set(`${each.tenant} ${each.type} ${each.id} ${each.version}`, each)
  return [...byVersion.values()]
}

function contentOf(random: Random): Partial<IndexDocument> {
  const some = <T>(make: () => T): readonly T[] => [...new Set(Array.from({ length: random.below(4) }, make))]
  const lists = <T>(make: () => T): Record<string, readonly T[]> =>
    Object.fromEntries(FIELDS.map((field) => [field, some(make)] as const).filter(([, values]) => values.length > 0))
  const keys = lists(() => random.pick(KEYS))
  const span = (): readonly [number, number] => {
    const low = random.below(INSTANTS.length - 1)
    return [INSTANTS[low]!, INSTANTS[low + 1 + random.below(INSTANTS.length - low - 1)]!]
  }
  const number = (): readonly [number, number] => {
    const low = random.pick(NUMBERS)
    return random.below(3) > 0 ? [low, low] : [low, Math.max(low, random.pick(NUMBERS))]
  }
  const order = Object.fromEntries(
    ['p', 'q', 'r'].flatMap((field) => {
      if (random.below(3) === 0) return []
      const [low, high] = field === 'q' ? span().map((x) => Math.max(-9e15, Math.min(9e15, x))) : [random.pick(KEYS), random.pick(KEYS)]
      return [[field, { low: low!, high: high! }]]
    }),
  )
  const tuple = (): Tuple => ({
    key: random.pick(['', 'x', 'x\u0000y']),
    labels: some(() => random.pick(LABELS)),
    ranges: [span(), number()].slice(0, 1 + random.below(2)),
  })
  return {
    keys,
    tuples: lists(tuple),
    points: lists(() => random.pick(POINTS)),
    groups: { 'b:code': keys.b ?? [], 'c:code': some(() => random.pick(KEYS)) },
    spans: lists(span),
    numbers: Object.fromEntries(Object.entries(lists(number)).map(([field, values]) => [`${field}#`, values])),
    order,
    present: [...Object.keys(order), ...some(() => random.pick(['s', 't']))],
    compartments: some(() => random.pick(COMPARTMENTS)),
  }
}

export function predicateOf(random: Random, depth = 3): Predicate {
  const field = random.pick(FIELDS)
  const of = (): Predicate[] => Array.from({ length: random.below(4) }, () => predicateOf(random, depth - 1))
  const [low, high] = [random.pick(INSTANTS), random.pick(INSTANTS)].sort((a, b) => a - b) as [number, number]
  const relation = random.pick(['within', 'intersects'] as const)
  switch (depth === 0 ? 3 + random.below(10) : random.below(13)) {
    case 0:
      return { kind: 'all', of: of() }
    case 1:
      return { kind: 'some', of: of() }
    case 2:
      return { kind: 'not', of: predicateOf(random, depth - 1) }
    case 3:
      return { kind: 'keyRange', field, from: random.pick(KEYS), ...(random.below(2) === 0 ? {} : { to: random.pick(KEYS) }) }
    case 4:
      return { kind: 'contains', field, text: random.pick(KEYS) }
    case 5:
      return { kind: 'span', field, relation, low, high: low === high ? high + 1 : high }
    case 6: {
      const [from, to] = [random.pick(NUMBERS), random.pick(NUMBERS)].sort((a, b) => a - b) as [number, number]
      const open = random.below(3)
      return {
        kind: 'number',
        field: `${field}#`,
        relation,
        low: open === 0 ? Number.NEGATIVE_INFINITY : from,
        high: open === 1 ? Number.POSITIVE_INFINITY : to + 0.001,
      }
    }
    case 7:
      return { kind: 'present', field: random.pick(['p', 'q', 's', 't', 'u']) }
    case 8:
      return { kind: 'compartment', oneOf: [random.pick(COMPARTMENTS)] }
    case 9: {
      const first: RangeTest = { kind: 'span', relation, low, high: low === high ? high + 1 : high }
      const labels = random.below(2) === 0 ? [] : [{ text: random.pick(LABELS), whole: random.below(2) === 0 }]
      const second: RangeTest = { kind: 'number', relation, low: random.pick(NUMBERS), high: Number.POSITIVE_INFINITY }
      return {
        kind: 'tuple',
        field,
        ...(random.below(4) === 0 ? {} : { key: random.pick(['', 'x', 'x\u0000y']) }),
        labels,
        ranges: random.below(2) === 0 ? [first] : [first, second],
      }
    }
    case 10: {
      const [latitude, longitude] = random.pick(POINTS)
      return { kind: 'near', field, latitude, longitude, metres: random.pick([0, 1_000, 1_000_000]) }
    }
    default:
      return { kind: 'key', field, oneOf: [...new Set(Array.from({ length: random.below(4) }, () => random.pick(KEYS)))] }
  }
}

/** A type that is not named is hidden. */
const accessOf = (random: Random): AccessRules =>
  random.below(3) > 0
    ? 'everything'
    : Object.fromEntries(TYPES.filter(() => random.below(4) > 0).map((type) => [type, predicateOf(random)]))

export function planOf(random: Random): Plan {
  const order: readonly SortKey[] = ['p', 'q', 'u']
    .filter(() => random.below(3) === 0)
    .map((field) => ({ field, descending: random.below(2) === 0 }))
  return {
    tenant: random.pick(TENANTS),
    types: random.below(3) === 0 ? TYPES : [random.pick(TYPES)],
    where: predicateOf(random),
    access: accessOf(random),
    order,
    limit: 1 + random.below(12),
    total: random.pick(['none', 'estimate', 'accurate'] as const),
    ...(random.below(4) === 0 ? { skip: random.below(10) } : {}),
  }
}

export function groupPlanOf(random: Random): GroupPlan {
  const { tenant, types, where, order, limit, skip } = planOf(random)
  const field = random.pick(['b:code', 'c:code', 'd:code'])
  return {
    tenant,
    types,
    where,
    access: accessOf(random),
    field,
    order,
    hits: 1 + random.below(3),
    limit,
    ...(skip === undefined ? {} : { skip }),
  }
}
