/**
 * An index for conditional interactions, which must not take a resource for absent because nobody knows: where somebody's own parameter has no
 * values of a version, for its expression failed or took too long there, nothing is made conditional on it.
 */
import { fhirError } from '../../fhir/outcome.ts'
import { failurePrefixOf, type IndexProgress, type UnindexableVersionStatus } from '../../ports/search/index-status.ts'
import type { Matching, Predicate } from '../../ports/search/plan.ts'
import type { SearchIndex } from '../../ports/search/search-index.ts'
import { nameOf } from '../resources/request-key.ts'

type Asked = Pick<Matching, 'types' | 'where'>

/** FhirError 403: see checkFullyEvaluated. Of what may be found: what is hidden from who asks decides nothing, and is told to nobody. */
export function fullyEvaluatedIndex(index: SearchIndex, progress: IndexProgress): SearchIndex {
  const decided = async <Found>(asked: Matching, found: Promise<Found>): Promise<Found> => {
    const codes = ownCodesIn(asked)
    if (codes.length === 0) return found
    // What was indexed while it was searched for has failed by now, if it did.
    const [result, { unreadable }] = [await found, await progress.status(asked.tenant)]
    const undecided = unreadable.filter(
      ({ type, reason }) => asked.types.includes(type) && codes.some((code) => reason.startsWith(failurePrefixOf(code))),
    )
    for (const { type, reason } of await findable(index, asked, undecided))
      checkFullyEvaluated(asked, type, (code) => reason.startsWith(failurePrefixOf(code)))
    return result
  }
  return {
    apply: (documents) => index.apply(documents),
    explain: (plan) => index.explain(plan),
    caughtUp: (...of) => index.caughtUp(...of),
    find: (plan) => decided(plan, index.find(plan)),
    groups: (plan) => decided(plan, index.groups(plan)),
    distinct: (matching, field, limit) => decided(matching, index.distinct(matching, field, limit)),
  }
}

/** Those that who asks may find. */
async function findable(
  index: SearchIndex,
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

/** FhirError 403 where a parameter that is asked for has no values of a resource of this type. `isUnknown`: whether that is so, by its code. */
export function checkFullyEvaluated(asked: Asked, type: string, isUnknown: (code: string) => boolean): void {
  const code = asked.types.includes(type) ? ownCodesIn(asked).find(isUnknown) : undefined
  if (code !== undefined)
    throw fhirError(
      403,
      'too-costly',
      `The parameter ${code} has no values of some ${type} resources, which $reindex-status names: nothing is made conditional on it`,
    )
}

/** The fields of parameters somebody defined are named by their code and what they mean. */
const ownCodesIn = ({ where }: Asked): readonly string[] =>
  [...JSON.stringify(where).matchAll(/"field":"([\w-]+)~[0-9a-f]{8}/g)].map(([, code]) => code!)
