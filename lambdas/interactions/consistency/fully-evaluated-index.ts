/**
 * Index for conditional interactions. Rejects criteria with a custom parameter that has no values of some resource, because its expression
 * failed or took too long. Otherwise the interaction could treat an existing resource as absent.
 */
import { fhirError } from '../../fhir/outcome.ts'
import type { IndexProgress, UnindexableVersionStatus } from '../../ports/search/index-status.ts'
import { fieldsOf, type Matching, type Predicate } from '../../ports/search/plan.ts'
import { decorateSearches, type Searches } from '../../ports/search/search-index.ts'
import { nameOf } from '../resources/request-key.ts'

type Asked = Pick<Matching, 'types' | 'where'>

/**
 * Wraps the index. Its lookups throw FhirError 403 as checkFullyEvaluated does. Ignores resources that are hidden from the caller, so that
 * the error does not disclose them.
 */
export function fullyEvaluatedIndex(index: Searches, progress: IndexProgress): Searches {
  const checkFound = async (asked: Matching): Promise<void> => {
    const codes = ownCodesIn(asked)
    if (codes.length === 0) return
    // Read the unindexable versions after the search: indexing that ran concurrently has finished by then.
    const { unreadable } = await progress.status(asked.tenant)
    const undecided = unreadable.filter(
      ({ type, parameter }) => parameter !== undefined && asked.types.includes(type) && codes.includes(parameter),
    )
    for (const { type, parameter } of await findable(index, asked, undecided))
      checkFullyEvaluated(asked, type, (code) => code === parameter)
  }
  return decorateSearches(index, {
    async after(asked, found) {
      await checkFound(asked)
      return found
    },
  })
}

/** Returns the unindexable versions that the caller may find. */
async function findable(
  index: Searches,
  { tenant, access }: Matching,
  all: readonly UnindexableVersionStatus[],
): Promise<readonly UnindexableVersionStatus[]> {
  if (access === 'everything' || all.length === 0) return all
  const types = [...new Set(all.map(({ type }) => type))]
  const where: Predicate = { kind: 'key', field: '_id:code', oneOf: all.map(({ id }) => id) }
  const { hits } = await index.find({ tenant, types, where, access, order: [], limit: all.length * types.length, total: 'none' })
  const names = new Set(hits.map(nameOf))
  return all.filter((each) => names.has(nameOf(each)))
}

/**
 * Throws FhirError 403 if the criteria use a custom parameter that has no values of a resource of `type`. `isUnknown`: whether the values
 * of the parameter with this code are missing.
 */
export function checkFullyEvaluated(asked: Asked, type: string, isUnknown: (code: string) => boolean): void {
  const code = asked.types.includes(type) ? ownCodesIn(asked).find(isUnknown) : undefined
  if (code !== undefined)
    throw fhirError(
      403,
      'too-costly',
      `The parameter ${code} has no values of some ${type} resources, which $reindex-status names: nothing is made conditional on it`,
    )
}

/**
 * Returns the codes of the custom parameters in the criteria. An index field of such a parameter is named `code~hash`, with a hash of its
 * definition.
 */
const ownCodesIn = ({ where }: Asked): readonly string[] =>
  fieldsOf(where).flatMap((field) => /^([\w-]+)~[0-9a-f]{8}/.exec(field)?.[1] ?? [])
