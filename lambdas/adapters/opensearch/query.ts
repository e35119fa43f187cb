/** Types and constructors of OpenSearch queries. https://docs.opensearch.org/latest/query-dsl/ */
export type Query = { readonly [name: string]: unknown }

export const MATCH_NONE: Query = { match_none: {} }
export const MATCH_ALL: Query = { match_all: {} }

export const allOf = (filter: readonly Query[]): Query =>
  filter.length === 0 ? MATCH_ALL : filter.length === 1 ? filter[0]! : { bool: { filter } }

export const someOf = (should: readonly Query[]): Query =>
  should.length === 0 ? MATCH_NONE : should.length === 1 ? should[0]! : { bool: { should, minimum_should_match: 1 } }

export const noneOf = (...must_not: readonly Query[]): Query => ({ bool: { must_not } })

/** Maximum values of one `terms` query: the default limit of OpenSearch. More values are split into several queries. */
const MOST_TERMS = 65_536

export function termsQuery(field: string, values: readonly string[]): Query {
  if (values.length === 1) return { term: { [field]: values[0] } }
  const parts: Query[] = []
  for (let at = 0; at < values.length; at += MOST_TERMS) parts.push({ terms: { [field]: values.slice(at, at + MOST_TERMS) } })
  return someOf(parts)
}
