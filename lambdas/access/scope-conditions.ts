/**
 * Conditions of scopes, `?category=laboratory`: searches a single resource can answer. A file of its own, which functions load when a scope
 * first has one: most have none, and would start with all search parameters for nothing.
 */
import { parseJsonBytes } from '../fhir/json.ts'
import { isElement, type Resource } from '../fhir/resource.ts'
import { resourceTypes } from '../fhir/resource-types.ts'
import type { ExpressionRunner } from '../ports/execution/expression-runner.ts'
import { ALWAYS_FALSE, and, isAlwaysFalse, type Predicate } from '../ports/search/plan.ts'
import type { ResourceVersion } from '../ports/store/resource-store.ts'
import { evaluateAhead } from '../search/custom/batch-evaluation.ts'
import { extract } from '../search/documents/extract.ts'
import { matchesPredicate } from '../search/evaluate.ts'
import { findSearchParameter } from '../search/parameters.ts'
import { parseParameterPairs } from '../search/query/parameter-pairs.ts'
import { parseSearch } from '../search/query/query.ts'
import type { SearchContext } from '../search/search-context.ts'

/**
 * A condition that cannot be decided on the resource alone, or is not known (any more, or yet), grants nothing. A parameter of one's own may
 * fail on a resource, which then has no values of it: what it has not is no reason to be shown.
 */
export function conditionOf(query: string, type: string, { custom, ...plain }: SearchContext): Predicate {
  const own = custom === undefined ? undefined : parsed(type, query, { ...plain, custom })
  return parsed(type, query, plain) ?? (own === undefined || hasNot(own) ? ALWAYS_FALSE : own)
}

function parsed(type: string, query: string, reading: SearchContext): Predicate | undefined {
  try {
    const { where } = parseSearch(type, parseParameterPairs(query), { ...reading, handling: 'strict', criteriaOnly: true })
    return where.length > 0 && where.every(isOwn) ? and(...where) : undefined
  } catch {
    return undefined
  }
}

const hasNot = (p: Predicate): boolean => p.kind === 'not' || ((p.kind === 'all' || p.kind === 'some') && p.of.some(hasNot))

const isOwn = (condition: { readonly kind: string }): condition is Predicate =>
  condition.kind !== 'refers' && condition.kind !== 'referredBy'

/** Whether each of these conditions can be decided on a resource of the type alone, and is known; of `*`: on one of some type. */
export const isDecidable = (type: string, query: string, reading: SearchContext): boolean =>
  (type === '*' ? typesWith(query, reading) : [type]).some((each) => !isAlwaysFalse(conditionOf(query, each, reading)))

/** Those that have all its parameters: to read a query costs more, and many conditions may be asked for at once. */
function typesWith(query: string, { custom }: SearchContext): readonly string[] {
  const codes = parseParameterPairs(query).map(([name]) => name.split(':')[0]!)
  return resourceTypes.filter((type) => codes.every((code) => findSearchParameter(type, code, custom) !== undefined))
}

/** Whether the rule holds on a version with a body. */
export async function matchesBody(
  rule: Predicate,
  version: ResourceVersion,
  reading: SearchContext,
  expressions: () => ExpressionRunner,
): Promise<boolean> {
  const resource = parseJsonBytes(version.body)
  if (!isElement(resource)) return false
  if (reading.custom !== undefined) await evaluateAhead([resource as Resource], reading, expressions())
  return matchesPredicate(rule, extract(version, resource as Resource, reading))
}
