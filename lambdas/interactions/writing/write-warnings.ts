/** Warnings about a resource that is stored nevertheless. */
import type { Issue } from '../../fhir/outcome.ts'
import type { Resource } from '../../fhir/resource.ts'
import { findEmptyOperands, typesWithR4Parameter } from '../../search/custom/custom-parameters.ts'
import { findLongStrings } from '../../search/documents/long-strings.ts'
import type { SearchContext } from '../../search/search-context.ts'
import { MAX_SEARCHABLE_CHARACTERS } from '../../search/text-folding.ts'

/** Returns a warning for each string that is too long for searches to find. Specification 2.5, 4.2, 8. */
export const longStringWarningsOf = (resource: Resource, reading: SearchContext): readonly Issue[] =>
  findLongStrings(resource, reading).map((expression) => ({
    severity: 'warning',
    code: 'value',
    expression,
    text: `The string is longer than ${MAX_SEARCHABLE_CHARACTERS} characters: it is stored, but search does not find it`,
  }))

/** Returns warnings about parts of an active SearchParameter that have no effect on searches. */
export function definitionWarningsOf(resource: Resource): readonly Issue[] {
  if (resource.resourceType !== 'SearchParameter' || resource.status !== 'active') return []
  return [...redefinitionWarnings(resource), ...findEmptyOperands(resource).map(emptyWarning)]
}

const emptyWarning = (operand: string): Issue => ({
  ...{ severity: 'warning', code: 'business-rule', expression: 'SearchParameter.expression' },
  text: `This part of the expression has no values on any base, so searches find nothing by it: ${operand.slice(0, 200)}`,
})

function redefinitionWarnings(resource: Resource): readonly Issue[] {
  const types = typesWithR4Parameter(resource)
  if (types.length === 0) return []
  const text = `${types.join(', ')} ${types.length === 1 ? 'has' : 'have'} a search parameter of this code already, which stays what it is`
  return [{ severity: 'warning', code: 'business-rule', expression: 'SearchParameter.code', text }]
}

/**
 * Returns the resource in the form in which it is stored. The status of an active Subscription becomes `requested`, because this server
 * sends no notifications. https://hl7.org/fhir/R4/subscription.html
 */
export const toStoredResource = (resource: Resource): Resource =>
  resource.resourceType === 'Subscription' && resource.status === 'active' ? { ...resource, status: 'requested' } : resource

export const SUBSCRIPTION_WARNING: Issue = {
  severity: 'warning',
  code: 'not-supported',
  expression: 'Subscription.status',
  text: 'This server notifies nobody: the Subscription is kept as requested, not active',
}
