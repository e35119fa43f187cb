/**
 * Compartment search: finds only resources in the compartment of one patient, encounter, practitioner, related person or device.
 * https://hl7.org/fhir/R4/compartmentdefinition.html
 */
import { COMPARTMENT_TYPES } from '../../fhir/compartment.ts'
import { fhirError } from '../../fhir/outcome.ts'
import { resourceTypes } from '../../fhir/resource-types.ts'
import type { Predicate } from '../../ports/search/plan.ts'
import type { SearchAccess } from '../../search/query/condition.ts'
import { hiddenParameterError } from '../../search/query/hidden-parameters.ts'
import type { FhirRequest } from '../interaction.ts'

/**
 * Returns the predicate for the compartment in the URL, or none without a compartment. Throws FhirError 404 for a type that has no
 * compartments.
 */
export function compartmentPredicatesOf({ compartment }: FhirRequest): readonly Predicate[] {
  if (compartment === undefined) return []
  const [owner = ''] = compartment.split('/')
  if (!COMPARTMENT_TYPES.has(owner))
    throw fhirError(404, 'not-found', `There is no compartment ${compartment}: only ${[...COMPARTMENT_TYPES].join(', ')} have one`)
  return [{ kind: 'compartment', oneOf: [compartment] }]
}

/**
 * Returns the types to search: that of the URL, those of `_type` (`asked`), or all types in scope. Throws FhirError 403 if a named type, or
 * every type, is out of scope, or if a caller with a view names Group. A Group is in the compartments of its members, so a partner does not search
 * Groups by compartments.
 */
export function typesOf(
  { type, compartment, access }: FhirRequest,
  asked: readonly string[] | undefined,
  searcher: SearchAccess,
): readonly string[] {
  const hidesGroups = compartment !== undefined && access.view !== undefined
  if (type === undefined && asked === undefined) return searcher.within(resourceTypes.filter((each) => !hidesGroups || each !== 'Group'))
  const named = type === undefined ? asked! : [type]
  // guard: listed-members-have-no-compartments
  if (hidesGroups && named.includes('Group')) throw hiddenParameterError('Group', 'member')
  return named.flatMap((each) => searcher.within([each]))
}
