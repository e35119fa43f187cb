/** Compiles a predicate to a query. Conditions that a query cannot express exactly must be resolved before (two-step-conditions.ts). */
import { conjunctsOf, isAlwaysFalse, isAlwaysTrue, type Matching, type Predicate, ruleOf } from '../../ports/search/plan.ts'
import { MAX_TUPLE_RANGES, tupleRangeField } from './index-definition.ts'
import { allOf, MATCH_NONE, noneOf, type Query, someOf, termsQuery } from './query.ts'
import { rangeQuery } from './ranges.ts'

/** Queries by predicate, for the predicates that were resolved before compiling. */
export type ResolvedQueries = ReadonlyMap<Predicate, Query>

/** Returns the queries that limit a search to documents of the tenant and the types that are not deleted. */
export const scopeOf = ({ tenant, types }: Pick<Matching, 'tenant' | 'types'>): readonly Query[] => [
  termsQuery('tenant', [tenant]),
  termsQuery('type', types),
  { term: { deleted: false } },
]

export const matchingQuery = (matching: Matching, resolved: ResolvedQueries): Query =>
  allOf([
    ...scopeOf(matching),
    ...conjunctsOf(matching.where).map((each) => queryOf(each, resolved)),
    ...accessQueries(matching, (rule) => queryOf(rule, resolved)),
  ])

/** Returns the queries that limit a search to what the caller may access. Types with the same rule share one query. */
function accessQueries({ types, access }: Matching, query: (rule: Predicate) => Query): readonly Query[] {
  if (access === 'everything') return []
  const parts = [...Map.groupBy(types, (type) => ruleOf(access, type))].flatMap(([rule, alike]) =>
    isAlwaysFalse(rule) ? [] : [allOf([termsQuery('type', alike), ...(isAlwaysTrue(rule) ? [] : [query(rule)])])],
  )
  return [someOf(parts)]
}

function queryOf(p: Predicate, resolved: ResolvedQueries): Query {
  const found = resolved.get(p)
  if (found !== undefined) return found
  switch (p.kind) {
    case 'all':
      return allOf(conjunctsOf(p).map((each) => queryOf(each, resolved)))
    case 'some':
      return someOf(p.of.map((each) => queryOf(each, resolved)))
    case 'not':
      return noneOf(queryOf(p.of, resolved))
    case 'key':
      return termsQuery(`keys.${p.field}`, p.oneOf)
    case 'keyRange':
      return { range: { [`keys.${p.field}`]: { gte: p.from, ...(p.to === undefined ? {} : { lt: p.to }) } } }
    case 'contains':
      return containsQuery(`keys.${p.field}`, p.text)
    case 'span':
    case 'number':
      return rangeQuery(`${p.kind}s.${p.field}`, p)
    case 'present':
      return termsQuery('present', [p.field])
    case 'compartment':
      return termsQuery('compartments', p.oneOf)
    case 'tuple':
      return tupleQuery(p)
    case 'near':
      throw new Error('a distance condition must be resolved before')
  }
}

export const containsQuery = (field: string, text: string): Query =>
  text === '' ? { exists: { field } } : { wildcard: { [field]: { value: `*${text.replace(/[\\*?]/g, '\\$&')}*` } } }

function tupleQuery({ field, key, labels, ranges }: Extract<Predicate, { kind: 'tuple' }>): Query {
  if (ranges.length > MAX_TUPLE_RANGES) return MATCH_NONE
  const tests = [
    termsQuery('tuples.field', [field]),
    ...(key === undefined ? [] : [termsQuery('tuples.key', [key])]),
    ...labels.map(({ text, whole }) => (whole ? termsQuery('tuples.labels', [text]) : { prefix: { 'tuples.labels': { value: text } } })),
    ...ranges.map((test, i) => rangeQuery(tupleRangeField(i), test)),
  ]
  return { nested: { path: 'tuples', query: allOf(tests) } }
}
