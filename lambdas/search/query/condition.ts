/** Conditions on other resources. Each stage is one index lookup that turns a condition into keys, the innermost stage first. */
import { type FhirError, fhirError } from '../../fhir/outcome.ts'
import { MachineFault } from '../../ports/faults.ts'
import { type AccessRules, and, or, type Predicate } from '../../ports/search/plan.ts'
import type { Searches } from '../../ports/search/search-index.ts'
import { CANONICAL_FIELD, hasCanonical } from '../canonical.ts'
import { namesOf } from '../fields.ts'

export type Condition = Predicate | Chain | ReverseChain

/**
 * Chain: a reference in the field points to a resource of one of these types that meets the condition of its type.
 * https://hl7.org/fhir/R4/search.html#chaining
 */
export type Chain = {
  readonly kind: 'refers'
  readonly field: string
  /** Whether the reference may be a canonical URL. Without a version it matches every version of that URL. */
  readonly byCanonical: boolean
  readonly to: readonly { readonly type: string; readonly where: Condition }[]
}

/**
 * Reverse chain: a resource of type `by` that meets the condition refers to this one in `field`. https://hl7.org/fhir/R4/search.html#has
 */
export type ReverseChain = {
  readonly kind: 'referredBy'
  readonly type: string
  readonly by: string
  readonly field: string
  readonly byCanonical: boolean
  readonly where: Condition
}

/** Maximum distinct resources between two stages. A search with more is answered 403. */
const MAX_MATCHES_PER_STAGE = 65_536
/** Maximum resources between all stages of a search, because each criterion may have its own. A search with more is answered 403. */
const MAX_MATCHES_IN_TOTAL = 4 * MAX_MATCHES_PER_STAGE
/** Milliseconds after which no stage of a search starts. Each stage has its own budget, and a search may have hundreds. */
const LONGEST = 20_000
/** Field whose only key is the id. */
export const ID_FIELD = '_id:code'

/**
 * Access of the caller. `within`: returns the types of these that the caller may search, or throws FhirError 403 if there are none.
 * `rules`: conditions on the resources that the caller may find.
 */
export type SearchAccess = {
  readonly tenant: string
  readonly within: (types: readonly string[]) => readonly string[]
  readonly rules: (types: readonly string[]) => AccessRules
}

/** Returns access to everything of a tenant. */
export const unrestrictedSearchAccess = (tenant: string): SearchAccess => ({ tenant, within: (types) => types, rules: () => 'everything' })

/** State of one search. `left`: number of further resources allowed between its stages. */
type Stages = {
  readonly searcher: SearchAccess
  readonly index: Pick<Searches, 'distinct'>
  readonly startedAt: number
  left: number
}

/**
 * Returns all conditions as one predicate. Throws FhirError 403 for a forbidden type or too many resources between the stages. Throws
 * the fault `too-costly` if the stages take too long.
 */
export async function resolveChains(conditions: readonly Condition[], searcher: SearchAccess, index: Stages['index']): Promise<Predicate> {
  const stages: Stages = { searcher, index, startedAt: performance.now(), left: MAX_MATCHES_IN_TOTAL }
  const predicates: Predicate[] = []
  const values: FieldValueLookup = (type, where, field) => distinct(stages, type, where, field)
  for (const condition of conditions.map((each) => restrictChains(each, searcher))) predicates.push(await toPredicate(condition, values))
  return and(...predicates)
}

/** Removes the target types of chains that the caller may not search. Throws FhirError 403 before any lookup if none is left. */
export function restrictChains(condition: Condition, searcher: SearchAccess): Condition {
  switch (condition.kind) {
    case 'refers': {
      const types = searcher.within(condition.to.map(({ type }) => type))
      const to = condition.to.filter(({ type }) => types.includes(type))
      return { ...condition, to: to.map(({ type, where }) => ({ type, where: restrictChains(where, searcher) })) }
    }
    case 'referredBy':
      searcher.within([condition.by])
      return { ...condition, where: restrictChains(condition.where, searcher) }
    default:
      return condition
  }
}

/** Returns the distinct values of one field in the resources of a type that meet a predicate. */
export type FieldValueLookup = (type: string, where: Predicate, field: string) => Promise<readonly string[]>

/** Replaces chains and `_has` by the keys that they lead to. Searches and export filters differ only in how they look values up. */
export async function toPredicate(condition: Condition, values: FieldValueLookup): Promise<Predicate> {
  switch (condition.kind) {
    case 'refers': {
      const { field, byCanonical, to } = condition
      const keys: string[] = []
      const called: string[] = []
      for (const { type, where } of to) {
        const predicate = await toPredicate(where, values)
        for (const id of await values(type, predicate, ID_FIELD)) keys.push(`${type}/${id}`)
        if (byCanonical && hasCanonical(type)) for (const name of await values(type, predicate, CANONICAL_FIELD)) called.push(name)
      }
      return keyOr({ kind: 'key', field, oneOf: keys }, { kind: 'key', field: namesOf(field).canonical, oneOf: [...new Set(called)] })
    }
    case 'referredBy': {
      const { type, by, field, byCanonical, where } = condition
      const predicate = await toPredicate(where, values)
      const references = await values(by, predicate, field)
      const ids = references.filter((reference) => reference.startsWith(`${type}/`)).map((reference) => reference.slice(type.length + 1))
      const called = byCanonical && hasCanonical(type) ? await values(by, predicate, namesOf(field).canonical) : []
      return keyOr({ kind: 'key', field: ID_FIELD, oneOf: ids }, { kind: 'key', field: CANONICAL_FIELD, oneOf: called })
    }
    default:
      return condition
  }
}

type Key = Extract<Predicate, { readonly kind: 'key' }>

const keyOr = (key: Key, other: Key): Predicate => (other.oneOf.length === 0 ? key : or(key, other))

async function distinct(stages: Stages, type: string, where: Predicate, field: string): Promise<readonly string[]> {
  const { searcher, index, startedAt } = stages
  const { tenant, rules } = searcher
  if (performance.now() - startedAt > LONGEST) throw new MachineFault('too-costly', 'the stages of the search took too long')
  // guard: chained-resources-need-access
  const found = await index.distinct({ tenant, types: [type], where, access: rules([type]) }, field, MAX_MATCHES_PER_STAGE + 1)
  if (found.length > MAX_MATCHES_PER_STAGE) throw tooMany(`${MAX_MATCHES_PER_STAGE} resources of type ${type} are between two parts`)
  stages.left -= found.length
  if (stages.left < 0) throw tooMany(`${MAX_MATCHES_IN_TOTAL} resources are between the parts`)
  return found
}

const tooMany = (limit: string): FhirError => fhirError(403, 'too-costly', `More than ${limit} of the search: narrow the inner part`)
