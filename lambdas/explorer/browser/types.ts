/** Resource types, and the elements by which people recognize a resource. */

/** Types that Synthea and US Core use, which the home page counts. */
export const MAIN_TYPES: readonly string[] = [
  'Patient',
  'Coverage',
  'ExplanationOfBenefit',
  'Claim',
  'Encounter',
  'Condition',
  'Observation',
  'Procedure',
  'MedicationRequest',
  'Immunization',
  'AllergyIntolerance',
  'DiagnosticReport',
  'DocumentReference',
  'CarePlan',
  'CareTeam',
  'Device',
  'Practitioner',
  'Organization',
  'Location',
  'Group',
]

/** Elements that a table shows first, in this order. `[x]` stands for every type of a choice. */
const TELLING: readonly string[] = [
  'name',
  'title',
  'code',
  'vaccineCode',
  'medicationCodeableConcept',
  'medicationReference',
  'value[x]',
  'birthDate',
  'gender',
  'type',
  'class',
  'effective[x]',
  'onset[x]',
  'performed[x]',
  'occurrence[x]',
  'period',
  'billablePeriod',
  'date',
  'authoredOn',
  'created',
  'issued',
  'clinicalStatus',
  'status',
  'subject',
  'patient',
  'beneficiary',
  'payor',
  'identifier',
  'url',
]

/** Names of elements that are no columns. The id is always the first column. */
const HIDDEN: ReadonlySet<string> = new Set(['resourceType', 'id', 'meta', 'text', 'contained', 'extension', 'implicitRules', 'language'])

const fits = (name: string, pattern: string): boolean =>
  pattern.endsWith('[x]') ? name.startsWith(pattern.slice(0, -3)) && /^[A-Z]/.test(name.slice(pattern.length - 3)) : name === pattern

/** Returns the columns of a table of these resources: at most six of the elements that they have. */
export function columnsOf(resources: readonly object[]): readonly string[] {
  const names = elementsOf(resources)
  const telling = TELLING.flatMap((pattern) => names.filter((name) => fits(name, pattern)))
  return [...new Set([...telling, ...names])].slice(0, 6)
}

/** Returns the names of the elements that these resources have. */
export const elementsOf = (resources: readonly object[]): readonly string[] =>
  [...new Set(resources.flatMap((resource) => Object.keys(resource)))].filter((name) => !HIDDEN.has(name) && !name.startsWith('_'))

/** Returns the search parameter that sorts by the element, or undefined if no usual parameter does. */
export function sortParameterOf(element: string): string | undefined {
  if (element === 'id') return '_id'
  if (/^(?:effective|onset|performed|occurrence)[A-Z]|^(?:date|period|created|issued|authoredOn|billablePeriod)$/.test(element))
    return SORTS[element] ?? 'date'
  return SORTS[element]
}

const SORTS: Readonly<Record<string, string>> = {
  name: 'name',
  birthDate: 'birthdate',
  gender: 'gender',
  status: 'status',
  code: 'code',
  type: 'type',
  title: 'title',
  authoredOn: 'authoredon',
  created: 'created',
  issued: 'issued',
  billablePeriod: 'created',
  clinicalStatus: 'clinical-status',
  identifier: 'identifier',
  vaccineCode: 'vaccine-code',
}
