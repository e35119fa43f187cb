/**
 * Search of a conditional interaction. It is always strict: an unknown criterion, or no criterion, is an error.
 * https://hl7.org/fhir/R4/http.html#ccreate, #cond-update, #3.1.0.7.1
 */
import { createHash } from 'node:crypto'
import { parseJsonBytes } from '../../fhir/json.ts'
import { type FhirError, fhirError } from '../../fhir/outcome.ts'
import type { Resource } from '../../fhir/resource.ts'
import type { ExpressionRunner } from '../../ports/execution/expression-runner.ts'
import { and, type Plan, type Predicate } from '../../ports/search/plan.ts'
import type { Searches } from '../../ports/search/search-index.ts'
import type { ResourceKey, ResourceVersion, UniquenessGuard } from '../../ports/store/resource-store.ts'
import { evaluateAhead } from '../../search/custom/batch-evaluation.ts'
import { extract } from '../../search/documents/extract.ts'
import { identifierCriteriaOf } from '../../search/documents/identifiers.ts'
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

/** Matches of criteria. `isCurrent`: the search covered every commit that had resolved when it began. */
export type CriteriaMatches = { readonly matches: readonly Match[]; readonly isCurrent: boolean }

/** Resources whose uniqueness guards blocked earlier attempts, by the name of the guard. */
export type GuardHolders = ReadonlyMap<string, ResourceKey>

const NO_HOLDERS: GuardHolders = new Map()

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

/** Returns the matches, at most two from the index, because two are already an error. */
export const matchesOf = async (ports: CriteriaPorts, criteria: Criteria): Promise<readonly Match[]> =>
  (await searchFor(ports, criteria)).matches

/**
 * Searches like `matchesOf`. `holders`: those of the criteria may match although the index does not have them yet. They are added if they
 * match.
 */
export async function searchFor(
  { index, resources, expressions }: CriteriaPorts,
  criteria: Criteria,
  holders: GuardHolders = NO_HOLDERS,
): Promise<CriteriaMatches> {
  const { request, type } = criteria
  const { tenant } = request
  const searcher = searchAccessOf(request)
  const types = searcher.within([type])
  const where = await resolveChains(criteria.where, searcher, index)
  // guard: condition-is-matched-with-access
  const plan: Plan = { tenant, types, where, access: searcher.rules(types), order: [], limit: 2, total: 'none', ...chainingOf(criteria) }
  const { hits, isCurrent = false } = await index.find(plan)
  const matches = hits.map(({ id, version }) => ({ tenant, type, id, versionId: version }))
  if (isCurrent || holders.size === 0) return { matches, isCurrent }
  const own = guardNamesOf(criteria).flatMap((name) => holders.get(name) ?? [])
  const others = new Map(own.filter(({ id }) => !matches.some((match) => match.id === id)).map((holder) => [holder.id, holder]))
  for (const head of others.size === 0 ? [] : await resources(request, 's').current([...others.values()]))
    if (head !== undefined && (await holdsOn(where, criteria, head, expressions))) matches.push(head)
  return { matches, isCurrent }
}

const chainingOf = ({ where }: Criteria): Pick<Plan, 'isChained'> => (where.some(isChain) ? { isChained: true } : {})

const isChain = (each: Condition): each is Exclude<Condition, Predicate> => each.kind === 'refers' || each.kind === 'referredBy'

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

/** Uniqueness guards of a write. `criteria`: identifies its criteria. */
export type Uniqueness = { readonly criteria: string; readonly guards: readonly UniquenessGuard[] }

/**
 * Returns the uniqueness guards of a write without a match. They block other writes with the same criteria, or with one of its identifiers.
 * `taker`: resource of this write. `holders`: resources whose guards it replaces. `isCurrent`: see `CriteriaMatches`.
 */
export function uniquenessOf(
  criteria: Criteria,
  { isCurrent }: Pick<CriteriaMatches, 'isCurrent'>,
  taker: ResourceKey,
  holders: GuardHolders = NO_HOLDERS,
): Uniqueness {
  const { tenant } = criteria.request
  const names = guardNamesOf(criteria)
  // The guard of the criteria is for searches that may miss a commit, and for functions of a release without guards of identifiers.
  const needed = isCurrent && names.length > 1 ? names.slice(1) : names
  const guards = needed.map((guard): UniquenessGuard => {
    const replaces = holders.get(guard)
    return { tenant, guard, holder: taker, ...(replaces === undefined ? {} : { replaces }) }
  })
  return { criteria: names[0]!, guards }
}

/** Returns the names of the guards of criteria: one of all criteria, and one of each identifier value, whatever its system. */
function guardNamesOf({ type, pairs, where }: Criteria): readonly [string, ...string[]] {
  const own = where.filter((each) => !isChain(each))
  const values = new Set(identifierCriteriaOf(and(...own)).flatMap((criteria) => criteria.map(({ value }) => value)))
  return [
    guardNameOf([type, pairs.map(([name, value]) => `${name}=${value}`).sort()]),
    ...[...values].map((value) => guardNameOf([type, 'identifier', value])),
  ]
}

const guardNameOf = (parts: readonly unknown[]): string => createHash('sha256').update(JSON.stringify(parts)).digest('base64url')

export const tooManyMatches = (): FhirError => fhirError(412, 'multiple-matches', 'More than one resource matches the criteria')
