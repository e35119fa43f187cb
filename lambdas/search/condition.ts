/** Conditions on other resources, and how they become conditions on keys: one look-up in the index per stage, the innermost first. */
import { fhirError } from '../fhir/outcome.ts'
import type { SearchIndex } from '../ports/search-index.ts'
import { all, type Predicate } from './plan.ts'

export type Condition = Predicate | Refers | ReferredBy

/** A chain: a reference of the field is to a resource of one of these types that meets the type's condition. https://hl7.org/fhir/R4/search.html#chaining */
export type Refers = {
  readonly kind: 'refers'
  readonly field: string
  readonly to: readonly { readonly type: string; readonly where: Condition }[]
}

/** A reverse chain: a resource of `by` that meets the condition refers here, by its field. https://hl7.org/fhir/R4/search.html#has */
export type ReferredBy = {
  readonly kind: 'referredBy'
  readonly type: string
  readonly by: string
  readonly field: string
  readonly where: Condition
}

/** Distinct resources between two stages. */
const MOST_BETWEEN = 65_536
/** The field whose only key is the id. */
const ID = '_id:code'

type Index = Pick<SearchIndex, 'distinct'>

/** All conditions as one predicate. FhirError 403: too many resources between two stages. */
export async function resolved(conditions: readonly Condition[], tenant: string, index: Index): Promise<Predicate> {
  const predicates: Predicate[] = []
  for (const condition of conditions) predicates.push(await stage(condition, tenant, index))
  return all(...predicates)
}

async function stage(condition: Condition, tenant: string, index: Index): Promise<Predicate> {
  switch (condition.kind) {
    case 'refers': {
      const keys: string[] = []
      for (const { type, where } of condition.to)
        for (const id of await distinct(index, tenant, type, await stage(where, tenant, index), ID)) keys.push(`${type}/${id}`)
      return { kind: 'key', field: condition.field, oneOf: keys }
    }
    case 'referredBy': {
      const { type, by, field, where } = condition
      const references = await distinct(index, tenant, by, await stage(where, tenant, index), field)
      const here = references.filter((reference) => reference.startsWith(`${type}/`))
      return { kind: 'key', field: ID, oneOf: here.map((reference) => reference.slice(type.length + 1)) }
    }
    default:
      return condition
  }
}

async function distinct(index: Index, tenant: string, type: string, where: Predicate, field: string): Promise<readonly string[]> {
  const found = await index.distinct({ tenant, types: [type], where }, field, MOST_BETWEEN + 1)
  if (found.length > MOST_BETWEEN)
    throw fhirError(
      403,
      'too-costly',
      `More than ${MOST_BETWEEN} resources of type ${type} are between two parts of the search: narrow the inner part`,
    )
  return found
}
