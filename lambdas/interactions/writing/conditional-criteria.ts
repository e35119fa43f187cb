/**
 * Search of a conditional interaction. It is always strict: an unknown criterion, or no criterion, is an error.
 * https://hl7.org/fhir/R4/http.html#ccreate, #cond-update, #3.1.0.7.1
 */
import { createHash } from 'node:crypto'
import { parseJsonBytes } from '../../fhir/json.ts'
import { type FhirError, fhirError } from '../../fhir/outcome.ts'
import type { Resource } from '../../fhir/resource.ts'
import type { ExpressionRunner } from '../../ports/execution/expression-runner.ts'
import type { Plan, Predicate } from '../../ports/search/plan.ts'
import type { Searches } from '../../ports/search/search-index.ts'
import type { ResourceKey, ResourceVersion, UniquenessGuard } from '../../ports/store/resource-store.ts'
import { evaluateAhead } from '../../search/custom/batch-evaluation.ts'
import { extract } from '../../search/documents/extract.ts'
import { matchesPredicate } from '../../search/evaluate.ts'
import { type Condition, resolveChains } from '../../search/query/condition.ts'
import type { ParameterPairs } from '../../search/query/parameter-pairs.ts'
import { parseSearch } from '../../search/query/query.ts'
import type { FhirRequest, Ports } from '../interaction.ts'
import { searchAccessOf } from '../searching/request-search-access.ts'

export type CriteriaPorts = Pick<Ports, 'resources' | 'expressions'> & { readonly index: Pick<Searches, 'find' | 'distinct'> }

export type Criteria = {
  readonly request: Pick<FhirRequest, 'tenant' | 'access' | 'reading'>
  readonly type: string
  readonly pairs: ParameterPairs
  readonly where: readonly Condition[]
}
export type Match = ResourceKey & { readonly versionId: number }

/**
 * Parses the criteria. Throws FhirError 400 for a result parameter such as `_count`, for no criterion, and for an unknown or malformed one.
 * Ignores `_format` and `_pretty`.
 */
export function criteriaOf(request: Criteria['request'], type: string, pairs: ParameterPairs): Criteria {
  const { where, criteria } = parseSearch(type, pairs, { handling: 'strict', criteriaOnly: true, ...request.reading })
  if (criteria.length === 0)
    throw fhirError(
      400,
      'required',
      'A conditional interaction needs at least one search criterion; any other names its resource: [type]/[id]',
    )
  return { request, type, pairs: criteria, where }
}

/**
 * Returns the matches, at most two from the index, because two are already an error. `holder`: resource that may match although the index
 * does not have it yet; it is added if it matches.
 */
export async function matchesOf(
  { index, resources, expressions }: CriteriaPorts,
  criteria: Criteria,
  holder?: ResourceKey,
): Promise<readonly Match[]> {
  const { request, type } = criteria
  const { tenant } = request
  const searcher = searchAccessOf(request)
  const types = searcher.within([type])
  const where = await resolveChains(criteria.where, searcher, index)
  // guard: condition-is-matched-with-access
  const plan: Plan = { tenant, types, where, access: searcher.rules(types), order: [], limit: 2, total: 'none' }
  const { hits } = await index.find(plan)
  const matches = hits.map(({ id, version }) => ({ tenant, type, id, versionId: version }))
  if (holder === undefined || matches.some(({ id }) => id === holder.id)) return matches
  const [head] = await resources(request, 's').current([holder])
  return head !== undefined && (await holdsOn(where, criteria, head, expressions)) ? [...matches, head] : matches
}

async function holdsOn(
  where: Predicate,
  { request: { reading } }: Criteria,
  head: ResourceVersion,
  expressions: ExpressionRunner,
): Promise<boolean> {
  if (head.deleted) return false
  const resource = parseJsonBytes(head.body) as Resource
  await evaluateAhead([resource], reading, expressions)
  return matchesPredicate(where, extract(head, resource, reading))
}

/**
 * Returns the uniqueness guard of a write without a match. It blocks other writes with the same criteria. `taker`: resource of this write.
 * `holder`: resource whose guard it replaces.
 */
export const uniquenessGuardOf = (
  { request: { tenant }, type, pairs }: Criteria,
  taker: ResourceKey,
  holder?: ResourceKey,
): UniquenessGuard => ({
  tenant,
  guard: createHash('sha256')
    .update(JSON.stringify([type, pairs.map(([name, value]) => `${name}=${value}`).sort()]))
    .digest('base64url'),
  holder: taker,
  ...(holder === undefined ? {} : { replaces: holder }),
})

export const tooManyMatches = (): FhirError => fhirError(412, 'multiple-matches', 'More than one resource matches the criteria')
