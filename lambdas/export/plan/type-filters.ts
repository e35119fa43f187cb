/**
 * `_typeFilter` as predicates that each version is judged by. What chains and `_has` lead to is looked up once, when a job is planned, however
 * much it is: page by page, so that no look-up is long. https://hl7.org/fhir/uv/bulkdata/STU2/export.html#_typefilter-query-parameter
 */
import type { Access } from '../../access/access.ts'
import { createSearchAccess } from '../../access/search-access.ts'
import { FhirError, fhirError } from '../../fhir/outcome.ts'
import { and, type Matching, type Predicate } from '../../ports/search/plan.ts'
import type { SearchIndex } from '../../ports/search/search-index.ts'
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

/** By type; one of these holds. */
export type FilterPredicates = Readonly<Record<string, readonly Predicate[]>>

type Index = Pick<SearchIndex, 'find' | 'distinct'>

/** Hits of a look-up, and keys one is narrowed by: engines take no more than 65,536. */
const PAGE = 10_000
/** Keys that the chains of one job come to: a writer holds them in its memory. */
const MOST = 1_000_000

/** FhirError 403 for one that looks at types of which none may be searched, 400 for one that cannot be read. */
export const checkFilters = (filters: readonly TypeFilter[], searcher: SearchAccess, reading: SearchContext): void =>
  void filters.map((filter) => conditionsOf(filter, searcher, reading, 0))

/** ExportFault where a filter that was understood at the kick-off is not any more, or its chains lead to too much. */
export async function resolveFilters(
  index: Index,
  reading: SearchContext,
  job: Pick<Job, 'tenant' | 'access' | 'asked' | 'transactionTime'>,
): Promise<FilterPredicates> {
  const searcher = searchAccessOf(job.tenant, job.access, reading)
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

/** What of other types an export may look at. */
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

/** `count`: of keys that are held from now on. */
type Stages = { readonly index: Index; readonly searcher: SearchAccess; readonly count: (keys: number) => void }

function counting(): Stages['count'] {
  let all = 0
  return (keys) => {
    all += keys
    if (all > MOST)
      throw new ExportFault(`Chains and _has of the _typeFilters lead to more than ${MOST} resources: narrow them, or leave them out`)
  }
}

/** Looks values up page by page, however many resources meet the predicate. */
const valuesFor =
  (stages: Stages): FieldValueLookup =>
  async (type, where, field) => {
    const found = new Set<string>()
    for await (const ids of idsOf(stages, type, where)) {
      const before = found.size
      for (const value of field === ID_FIELD ? ids : await valuesOf(stages, type, ids, field)) found.add(value)
      stages.count(found.size - before)
    }
    return [...found]
  }

const valuesOf = ({ index, ...stages }: Stages, type: string, ids: readonly string[], field: string): Promise<readonly string[]> =>
  index.distinct(matching({ index, ...stages }, type, { kind: 'key', field: ID_FIELD, oneOf: ids }), field, Number.MAX_SAFE_INTEGER)

/** By pages, some perhaps twice. */
async function* idsOf(stages: Stages, type: string, where: Predicate): AsyncIterable<readonly string[]> {
  for (const part of partsOf(where))
    yield* findIds(stages.index, { ...matching(stages, type, part), order: [], limit: PAGE, total: 'none' })
}

// guard: export-filter-needs-access
const matching = ({ searcher }: Stages, type: string, where: Predicate): Matching => ({
  ...{ tenant: searcher.tenant, types: [type], where, access: searcher.rules([type]) },
})

/** Splits a predicate into parts, one of which holds. Conditions of a stage are criteria, or keys that an inner stage led to. */
function* partsOf(where: Predicate): Iterable<Predicate> {
  if (where.kind === 'some') for (const each of where.of) yield* partsOf(each)
  else if (where.kind === 'key' && where.oneOf.length > PAGE)
    for (let first = 0; first < where.oneOf.length; first += PAGE) yield { ...where, oneOf: where.oneOf.slice(first, first + PAGE) }
  else yield where
}
