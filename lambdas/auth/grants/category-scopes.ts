/**
 * What a user may leave of a whole type: US Core's categories of it. https://hl7.org/fhir/us/core/scopes.html; ONC asks for these choices where
 * an app wants the whole: https://www.healthit.gov/test-method/standardized-api-patient-and-population-services#ccg
 */
import { parseScope, type ResourceScope, scopeTextOf } from '../../access/scopes.ts'

const HL7 = 'http://terminology.hl7.org/CodeSystem'
const US_CORE = 'http://hl7.org/fhir/us/core/CodeSystem'

/** By type: the name → the category. */
const CATEGORIES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Condition: {
    'Encounter diagnoses': `${HL7}/condition-category|encounter-diagnosis`,
    'Problem list': `${HL7}/condition-category|problem-list-item`,
    'Health concerns': `${US_CORE}/condition-category|health-concern`,
  },
  Observation: {
    'Vital signs': `${HL7}/observation-category|vital-signs`,
    Laboratory: `${HL7}/observation-category|laboratory`,
    // Until US Core 5 there was a code of its own.
    'Clinical tests': `${HL7}/observation-category|procedure,${US_CORE}/us-core-observation-category|clinical-test`,
    Imaging: `${HL7}/observation-category|imaging`,
    'Social history': `${HL7}/observation-category|social-history`,
    'Social circumstances (SDOH)': `${US_CORE}/us-core-category|sdoh`,
    Surveys: `${HL7}/observation-category|survey`,
  },
}

/** Of a category that stands in the condition of a scope, whoever asked for it. */
export const categoryOf = ({ type, query }: Pick<ResourceScope, 'type' | 'query'>): string | undefined =>
  Object.entries(CATEGORIES[type] ?? {}).find(([, category]) => query === conditionOf(category))?.[0]

const conditionOf = (category: string): string => `category=${category}`

export type CategoryScope = { readonly name: string; readonly scope: string }

/** None where a condition narrows the scope already. */
export function categoryScopesOf(text: string): readonly CategoryScope[] {
  const scope = parseScope(text)
  if (scope?.kind !== 'resource' || scope.query !== '') return []
  const categories = Object.entries(CATEGORIES[scope.type] ?? {})
  return categories.map(([name, category]) => ({ name, scope: scopeTextOf({ ...scope, query: conditionOf(category) }) }))
}

/** What of these scopes was kept; of one that was not, what is narrower and was. */
export const selectAllowedScopes = (scopes: readonly string[], kept: readonly string[]): readonly string[] => [
  ...new Set(
    scopes.flatMap((whole) =>
      kept.includes(whole) ? [whole] : categoryScopesOf(whole).flatMap(({ scope }) => (kept.includes(scope) ? [scope] : [])),
    ),
  ),
]
