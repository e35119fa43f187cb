/**
 * Conditions on other resources: chains and `_has`. Each index lookup replaces a condition by the keys of the resources that meet it, the
 * innermost condition first.
 */
import { type FhirError, fhirError } from '../../fhir/outcome.ts'
import { MachineFault } from '../../ports/faults.ts'
import { type AccessRules, and, or, type Predicate } from '../../ports/search/plan.ts'
import type { Searches } from '../../ports/search/search-index.ts'
import { CANONICAL_FIELD, hasCanonical } from '../canonical.ts'
import { namesOf } from '../fields.ts'

export type Condition = Predicate | Chain | ReverseChain

/**
 * Chain: the `field` of the resource refers to another resource of a type in `to`, which meets the condition of that type.
 * https://hl7.org/fhir/R4/search.html#chaining
 */
export type Chain = {
  readonly kind: 'refers'
  readonly field: string
  /** Whether the reference may be a canonical URL. A canonical URL without a version refers to every version. */
  readonly byCanonical: boolean
  readonly to: readonly { readonly type: string; readonly where: Condition }[]
}

/**
 * Reverse chain: a resource of type `by` meets the condition, and its `field` refers to this resource.
 * https://hl7.org/fhir/R4/search.html#has
 */
export type ReverseChain = {
  readonly kind: 'referredBy'
  readonly type: string
  readonly by: string
  readonly field: string
  readonly byCanonical: boolean
  readonly where: Condition
}

/** Maximum distinct keys that one lookup may return. A search with more is answered 403. */
const MAX_MATCHES_PER_STAGE = 65_536
/**
 * Maximum keys that all lookups of a search may return, because each criterion may have its own lookups. A search with more is answered
 * 403.
 */
const MAX_MATCHES_IN_TOTAL = 4 * MAX_MATCHES_PER_STAGE
/**
 * Milliseconds after the start of a search at which no further lookup starts. Each lookup has its own budget, and a search may have
 * hundreds of them.
 */
const LONGEST = 20_000
/** Index field whose only key is the id of the resource. */
export const ID_FIELD = '_id:code'

/**
 * Access of the caller. `within`: returns those of the types that the caller may search, or throws FhirError 403 if there are none.
 * `rules`: conditions that limit which resources the caller finds.
 */
export type SearchAccess = {
  readonly tenant: string
  readonly within: (types: readonly string[]) => readonly string[]
  readonly rules: (types: readonly string[]) => AccessRules
}

/** Returns access to all resources of a tenant. */
export const unrestrictedSearchAccess = (tenant: string): SearchAccess => ({ tenant, within: (types) => types, rules: () => 'everything' })

/** State of one search. `left`: number of keys that its further lookups may return. */
type Stages = {
  readonly searcher: SearchAccess
  readonly index: Pick<Searches, 'distinct'>
  readonly startedAt: number
  left: number
}

/**
 * Returns all conditions as one predicate without chains. Throws FhirError 403 if the caller may not search a type, or if lookups return
 * too many keys. Throws the fault `too-costly` if the lookups take too long.
 */
export async function resolveChains(conditions: readonly Condition[], searcher: SearchAccess, index: Stages['index']): Promise<Predicate> {
  const stages: Stages = { searcher, index, startedAt: performance.now(), left: MAX_MATCHES_IN_TOTAL }
  const predicates: Predicate[] = []
  const values: FieldValueLookup = (type, where, field) => distinct(stages, type, where, field)
  for (const condition of conditions.map((each) => restrictChains(each, searcher))) predicates.push(await toPredicate(condition, values))
  return and(...predicates)
}

/**
 * Removes the target types of chains that the caller may not search. Throws FhirError 403 if none is left, or if the caller may not search
 * the type of a reverse chain. Makes no lookup.
 */
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

/** Looks up the distinct values of a field in the resources of a type that meet a predicate. */
export type FieldValueLookup = (type: string, where: Predicate, field: string) => Promise<readonly string[]>

/**
 * Replaces chains and `_has` by the keys of the resources that meet them. Searches and export filters pass different lookups (`values`).
 */
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
