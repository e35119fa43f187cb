/**
 * `_typeFilter` as predicates on single versions. Planning resolves chains and `_has` to keys once. It reads them page by page, so that no
 * single lookup runs long, whatever the number of results. https://hl7.org/fhir/uv/bulkdata/STU2/export.html#_typefilter-query-parameter
 */
import type { Access } from '../../access/access.ts'
import { REFERENCED_TYPES } from '../../access/partner-types.ts'
import { createSearchAccess } from '../../access/search-access.ts'
import { criteriaContextUnder } from '../../access/view/view-rules.ts'
import { FhirError, fhirError } from '../../fhir/outcome.ts'
import { and, type Matching, type Predicate } from '../../ports/search/plan.ts'
import type { Searches } from '../../ports/search/search-index.ts'
import {
  type Condition,
  type FieldValueLookup,
  ID_FIELD,
  restrictChains,
  type SearchAccess,
  toPredicate,
} from '../../search/query/condition.ts'
import type { SearchContext } from '../../search/search-context.ts'
import { parseFilter, type TypeFilter } from '../export-request.ts'
import { ExportFault } from '../job/export-fault.ts'
import type { Job } from '../job/job.ts'
import { findIds } from './search-ids.ts'

/** Predicates by type. A resource must match one of them. */
export type FilterPredicates = Readonly<Record<string, readonly Predicate[]>>

type Index = Pick<Searches, 'find' | 'distinct'>

/** Hits per page of a lookup, and maximum keys in one condition. Search engines accept at most 65,536 keys. */
const PAGE = 10_000
/** Maximum keys that the chains of a job resolve to. Above it the job fails, because each writer holds them in memory. */
const MAX_IDS = 1_000_000

/**
 * Returns the search context of filters. In an export for a partner it lacks the parameters that could find a resource by an amount that
 * the view hides, or a Provenance by a target or an entity that the export omits.
 */
export const filterReadingOf = (reading: SearchContext, { partner }: Pick<Job, 'partner'>): SearchContext =>
  criteriaContextUnder(partner?.view, reading)

/**
 * Returns the access of the chains and `_has` of filters. In an export for a partner they lead to types without data of patients only.
 * Otherwise the filters could reveal omitted data, such as data of other members or sensitive data.
 */
export function chainAccessOf(access: Access, { partner }: Pick<Job, 'partner'>): Access {
  // guard: partner-chains-to-no-data-of-patients
  return partner === undefined ? access : { ...access, clauses: access.clauses.filter(({ type }) => REFERENCED_TYPES.includes(type)) }
}

/**
 * Checks the filters of a kick-off. Throws FhirError 403 if the caller may search none of the types that a chain leads to, and 400 if a
 * filter is invalid.
 */
export const checkFilters = (filters: readonly TypeFilter[], searcher: SearchAccess, reading: SearchContext): void =>
  void filters.map((filter) => conditionsOf(filter, searcher, reading, 0))

/**
 * Resolves the filters of a job. Throws ExportFault if a filter has become invalid since the kick-off, or if its chains resolve to too many
 * keys.
 */
export async function resolveFilters(
  index: Index,
  reading: SearchContext,
  job: Pick<Job, 'tenant' | 'access' | 'asked' | 'transactionTime' | 'partner'>,
): Promise<FilterPredicates> {
  const searcher = searchAccessOf(job.tenant, chainAccessOf(job.access, job), reading)
  const values = valuesFor({ index, searcher, count: counting() })
  const filters: Record<string, Predicate[]> = {}
  for (const filter of job.asked.filters) {
    const predicates: Predicate[] = []
    for (const condition of understood(filter, searcher, reading, job.transactionTime))
      predicates.push(await toPredicate(condition, values))
    filters[filter.type] = [...(filters[filter.type] ?? []), and(...predicates)]
  }
  return filters
}

/** Returns the search access for the types that filters chain to. A chain to a type without search scope is rejected with 403. */
export const searchAccessOf = (tenant: string, access: Access, reading: SearchContext): SearchAccess =>
  createSearchAccess({ tenant, access, reading }, (type) =>
    fhirError(403, 'forbidden', `_typeFilter looks at ${type}: this needs a scope for ${type}.s`),
  )

const conditionsOf = (filter: TypeFilter, searcher: SearchAccess, reading: SearchContext, now: number): readonly Condition[] =>
  parseFilter(filter, reading, now).map((condition) => restrictChains(condition, searcher))

function understood(filter: TypeFilter, searcher: SearchAccess, reading: SearchContext, now: number): readonly Condition[] {
  try {
    return conditionsOf(filter, searcher, reading, now)
  } catch (error) {
    if (error instanceof FhirError) throw new ExportFault(`A _typeFilter of ${filter.type} cannot be used any more: ${error.message}`)
    throw error
  }
}

/** `count`: adds to the number of keys held, and throws ExportFault above the maximum. */
type Stages = { readonly index: Index; readonly searcher: SearchAccess; readonly count: (keys: number) => void }

function counting(): Stages['count'] {
  let all = 0
  return (keys) => {
    all += keys
    if (all > MAX_IDS)
      throw new ExportFault(`Chains and _has of the _typeFilters lead to more than ${MAX_IDS} resources: narrow them, or leave them out`)
  }
}

/** Returns a lookup that reads values page by page, so that any number of resources may match. */
const valuesFor =
  (stages: Stages): FieldValueLookup =>
  async (type, predicate, field) => {
    const found = new Set<string>()
    for await (const ids of idsOf(stages, type, predicate)) {
      const before = found.size
      for (const value of field === ID_FIELD ? ids : await valuesOf(stages, type, ids, field)) found.add(value)
      stages.count(found.size - before)
    }
    return [...found]
  }

const valuesOf = ({ index, ...stages }: Stages, type: string, ids: readonly string[], field: string): Promise<readonly string[]> =>
  index.distinct(matching({ index, ...stages }, type, { kind: 'key', field: ID_FIELD, oneOf: ids }), field, Number.MAX_SAFE_INTEGER)

/** Yields ids in pages. An id may occur in several pages. */
async function* idsOf(stages: Stages, type: string, predicate: Predicate): AsyncIterable<readonly string[]> {
  for (const part of partsOf(predicate))
    yield* findIds(stages.index, { ...matching(stages, type, part), order: [], limit: PAGE, total: 'none' })
}

// guard: export-filter-needs-access
const matching = ({ searcher }: Stages, type: string, predicate: Predicate): Matching => ({
  ...{ tenant: searcher.tenant, types: [type], where: predicate, access: searcher.rules([type]) },
})

/**
 * Splits a predicate into parts with at most PAGE keys each, of which one must hold. A condition of a chain consists of criteria, or of
 * keys from the inner chain.
 */
function* partsOf(predicate: Predicate): Iterable<Predicate> {
  if (predicate.kind === 'some') for (const each of predicate.of) yield* partsOf(each)
  else if (predicate.kind === 'key' && predicate.oneOf.length > PAGE)
    for (let first = 0; first < predicate.oneOf.length; first += PAGE)
      yield { ...predicate, oneOf: predicate.oneOf.slice(first, first + PAGE) }
  else yield predicate
}
