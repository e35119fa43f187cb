/**
 * US Core categories. A user can narrow a scope for a whole type to some of them. https://hl7.org/fhir/us/core/scopes.html. ONC requires
 * this choice where an app requests the whole type:
 * https://www.healthit.gov/test-method/standardized-api-patient-and-population-services#ccg
 */
import { parseScope, type ResourceScope, scopeTextOf } from '../../access/scopes.ts'

const HL7 = 'http://terminology.hl7.org/CodeSystem'
const US_CORE = 'http://hl7.org/fhir/us/core/CodeSystem'

/** Value of the criterion `category`, by resource type and displayed name. */
const CATEGORIES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Condition: {
    'Encounter diagnoses': `${HL7}/condition-category|encounter-diagnosis`,
    'Problem list': `${HL7}/condition-category|problem-list-item`,
    'Health concerns': `${US_CORE}/condition-category|health-concern`,
  },
  Observation: {
    'Vital signs': `${HL7}/observation-category|vital-signs`,
    Laboratory: `${HL7}/observation-category|laboratory`,
    // US Core used its own code until version 5, so both codes are in this category.
    'Clinical tests': `${HL7}/observation-category|procedure,${US_CORE}/us-core-observation-category|clinical-test`,
    Imaging: `${HL7}/observation-category|imaging`,
    'Social history': `${HL7}/observation-category|social-history`,
    'Social circumstances (SDOH)': `${US_CORE}/us-core-category|sdoh`,
    Surveys: `${HL7}/observation-category|survey`,
  },
}

/** Returns the displayed name of the category that is the condition of a scope, or undefined if the condition is another one. */
export const categoryOf = ({ type, query }: Pick<ResourceScope, 'type' | 'query'>): string | undefined =>
  Object.entries(CATEGORIES[type] ?? {}).find(([, category]) => query === conditionOf(category))?.[0]

const conditionOf = (category: string): string => `category=${category}`

export type CategoryScope = { readonly name: string; readonly scope: string }

/**
 * Returns the scopes that narrow a scope to one category each. Returns none if the type has no categories, or the scope has a condition.
 */
export function categoryScopesOf(text: string): readonly CategoryScope[] {
  const scope = parseScope(text)
  if (scope?.kind !== 'resource' || scope.query !== '') return []
  const categories = Object.entries(CATEGORIES[scope.type] ?? {})
  return categories.map(([name, category]) => ({ name, scope: scopeTextOf({ ...scope, query: conditionOf(category) }) }))
}

/**
 * Returns the requested scopes that the user allowed. `kept`: scopes and category scopes that the user ticked. A scope that is not ticked
 * is replaced by its ticked category scopes.
 */
export const selectAllowedScopes = (scopes: readonly string[], kept: readonly string[]): readonly string[] => [
  ...new Set(
    scopes.flatMap((whole) =>
      kept.includes(whole) ? [whole] : categoryScopesOf(whole).flatMap(({ scope }) => (kept.includes(scope) ? [scope] : [])),
    ),
  ),
]
