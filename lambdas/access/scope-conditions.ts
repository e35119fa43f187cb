/**
 * Conditions of scopes, such as `?category=laboratory`: search criteria that are decided on a single resource.
 *
 * Only scopes with a condition need the search parameters, which would slow every start down. So the bundles of functions load this file
 * with the first such scope.
 */
import { parseJsonBytes } from '../fhir/json.ts'
import { FhirError } from '../fhir/outcome.ts'
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
import { criteriaContextUnder, type View } from './view/view-rules.ts'

/**
 * Returns the condition as a predicate. It is always false if the resource alone cannot decide it, or if a parameter is not available.
 *
 * Throws FhirError 403 for a parameter that could reveal an element that the view hides, or a target or an entity of a Provenance.
 *
 * A query that needs a custom parameter is also always false if it contains any negation. A custom parameter may fail on a resource, and a
 * missing value must not grant access.
 */
export function conditionOf(query: string, type: string, reading: SearchContext, view?: View): Predicate {
  const { custom, ...plain } = criteriaContextUnder(view, reading)
  const own = custom === undefined ? undefined : parsed(type, query, { ...plain, custom })
  return parsed(type, query, plain) ?? (own === undefined || hasNot(own) ? ALWAYS_FALSE : own)
}

function parsed(type: string, query: string, reading: SearchContext): Predicate | undefined {
  try {
    const { where } = parseSearch(type, parseParameterPairs(query), { ...reading, handling: 'strict', criteriaOnly: true })
    return where.length > 0 && where.every(isOwn) ? and(...where) : undefined
  } catch (error) {
    // guard: scope-condition-reads-nothing-hidden
    if (error instanceof FhirError && error.status === 403) throw error
    return undefined
  }
}

const hasNot = (p: Predicate): boolean => p.kind === 'not' || ((p.kind === 'all' || p.kind === 'some') && p.of.some(hasNot))

const isOwn = (condition: { readonly kind: string }): condition is Predicate =>
  condition.kind !== 'refers' && condition.kind !== 'referredBy'

/** Whether `conditionOf` returns a condition that some resource of the type can meet. `*`: true if that holds for one type. */
export const isDecidable = (type: string, query: string, reading: SearchContext): boolean =>
  (type === '*' ? typesWith(query, reading) : [type]).some((each) => !isAlwaysFalse(conditionOf(query, each, reading)))

/**
 * Returns the types that have all parameters of the query. Only for these the caller parses the query: parsing it for every type costs
 * more.
 */
function typesWith(query: string, { custom }: SearchContext): readonly string[] {
  const codes = parseParameterPairs(query).map(([name]) => name.split(':')[0]!)
  return resourceTypes.filter((type) => codes.every((code) => findSearchParameter(type, code, custom) !== undefined))
}

/** Whether the version matches the rule. `version` must have a body. False if the body is not a JSON object. */
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
