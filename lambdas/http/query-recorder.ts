/**
 * Collects the names of patients, resources and parameters in requests with criteria, for the audit record. Audit records hold no values of
 * parameters, except ids of patients.
 */
import { type Column, columnOf, type InteractionCode, type PipelineCode } from '../catalogue/catalogue.ts'
import { type Element, isElement, isId, type Resource } from '../fhir/resource.ts'
import { isResourceType } from '../fhir/resource-types.ts'
import type { RequestNames } from '../interactions/interaction.ts'
import type { QueryDigest } from '../ports/security/query-digest.ts'
import { isParameterCode } from '../search/parameters.ts'
import { type ParameterPairs, parseParameterPairs } from '../search/query/parameter-pairs.ts'
import type { SearchContext } from '../search/search-context.ts'
import { NON_CRITERIA_PARAMETERS, type QueryRecorder, UNKNOWN_NAME, urlPatientsOf } from './audit-record.ts'
import type { Exchange } from './exchange.ts'

const READS: ReadonlySet<PipelineCode> = new Set<InteractionCode>(['read', 'vread', 'history-instance'])

/** Returns the names in a request or Bundle entry: in its URL, its criteria, and the Parameters of an operation. */
export function requestNamesOf({ interaction, fhir }: Pick<Exchange, 'interaction' | 'fhir'>): RequestNames {
  const { type = '', id = '', parameters, preconditions, resource } = fhir
  const conditional = preconditions.ifNoneExist
  const queries = [parameters, conditional === undefined ? [] : criteriaIn(conditional), postedTo(interaction, resource)]
  return {
    // guard: named-patients-are-recorded
    patients: [...urlPatientsOf(fhir), ...patientsNamed(queries.flat(), type)],
    queries: queries.filter(({ length }) => length > 0),
    ...(READS.has(interaction) && isResourceType(type) && isId(id) ? { key: `${type}/${id}` } : {}),
  }
}

/** Parses the criteria of If-None-Exist. Returns none if there are too many: the server rejects such a request, but still records it. */
function criteriaIn(query: string): ParameterPairs {
  try {
    return parseParameterPairs(query)
  } catch {
    return []
  }
}

function postedTo(interaction: PipelineCode, resource: Resource | undefined): ParameterPairs {
  const parameter = columnOf(interaction) === 'QUERY' && Array.isArray(resource?.parameter) ? resource.parameter : []
  return parameter.filter(isElement).map(({ name, ...value }) => [typeof name === 'string' ? name : UNKNOWN_NAME, postedText(value)])
}

/** Returns the value of a parameter as text: a string or reference as in a URL, any other value as JSON. */
function postedText(value: Element): string {
  const [only, ...more] = Object.values(value)
  const text = isElement(only) ? only.reference : only
  return typeof text === 'string' && more.length === 0 ? text : JSON.stringify(value)
}

/** Returns the recorder for requests with criteria. It records parameter names and patients as text, and whole queries only as digests. */
export const queryRecorder =
  (digests: QueryDigest): QueryRecorder =>
  (exchange) => {
    const { interaction, named, site, caller } = exchange
    const all = [requestNamesOf(exchange), ...named]
    const queries = all.flatMap((each) => each.queries)
    const { custom } = caller === undefined ? {} : site.reading(caller.tenant)
    return {
      parameters: parameterNames(queries, custom),
      queries: CRITERIA.has(columnOf(interaction)) ? unique(queries.map((pairs) => digests.digest(textOf(pairs)))) : [],
      reads: unique(named.flatMap(({ key }) => (key === undefined ? [] : [key]))),
      patients: all.flatMap(({ patients }) => patients),
    }
  }

/** Columns of interactions whose requests have search criteria. On AWS, only the functions that answer them have the digest key. */
export const CRITERIA: ReadonlySet<Column> = new Set<Column>(['SEARCH', 'SAVE', 'PATCH', 'DELETE', 'BUNDLE', 'QUERY'])

const unique = (texts: readonly string[]): readonly string[] => [...new Set(texts)]

/** Returns the text of which the digest is made. It is equal for equal parameters in any order. */
const textOf = (pairs: ParameterPairs): string => JSON.stringify(pairs.map((pair) => JSON.stringify(pair)).toSorted())

/** Maximum characters of a recorded parameter name. A longer one is recorded as UNKNOWN_NAME. */
const LONGEST_NAME = 200

function parameterNames(queries: readonly ParameterPairs[], custom: SearchContext['custom']): readonly string[] {
  const isKnown = (word: string): boolean =>
    NON_CRITERIA_PARAMETERS.has(word) || WORDS.has(word) || isResourceType(word) || isParameterCode(word, custom)
  const shown = (name: string): string => {
    // guard: audit-record-holds-known-names-only
    if (name.length > LONGEST_NAME || !name.split(/[:.]/).every(isKnown)) return UNKNOWN_NAME
    return name
  }
  return unique(unique(queries.flatMap((pairs) => pairs.map(([name]) => name))).map(shown))
}

/**
 * Words that occur in parameter names, in addition to NON_CRITERIA_PARAMETERS, resource types and codes of search parameters. A name with
 * any other word is recorded as UNKNOWN_NAME.
 */
const WORDS: ReadonlySet<string> = new Set([
  ...[
    '_skip',
    '_page',
    '_total',
    '_sort',
    '_contained',
    '_include',
    '_revinclude',
    'iterate',
    '_has',
    '_group',
    '_groupSort',
    '_groupCount',
  ],
  ...['missing', 'exact', 'contains', 'text', 'not', 'above', 'below', 'in', 'not-in', 'of-type', 'identifier', 'code'],
  ...['patient', 'start', 'end', 'type', 'on-demand', 'includeAssociatedData', 'resource', 'fhirPath', 'client', 'expires', 'signature'],
])

/** Returns the patients that the criteria name, as `Patient/1`. Other values may remain; audit-record.ts drops them. */
const patientsNamed = (pairs: ParameterPairs, type: string): readonly string[] =>
  pairs.flatMap(([name, value]) => patientsIn(name, value, type)).slice(0, MOST_VALUES)

/** Maximum values that are examined. A search with more values is rejected. */
const MOST_VALUES = 10_000

/** Matches parameter names, or ends of chains, whose values may be ids of Patients without `Patient/`. */
const OF_PATIENTS = /(?:(?:^|\.)(?:patient|subject)|:Patient)(?:\._id)?$/

/**
 * Returns the patients in criteria such as `patient=1,Patient/2`, `subject=Patient/1/_history/2`, `subject:Patient=1`, `subject._id=1`.
 * For the type Patient, also those in `_id=1`.
 */
function patientsIn(name: string, value: string, type: string): readonly string[] {
  const isBare = OF_PATIENTS.test(name) || (name === '_id' && type === 'Patient')
  if (!isBare && !value.includes('Patient/')) return []
  return value.split(',', MOST_VALUES).map((each) => (isBare && isId(each) ? `Patient/${each}` : patientAtEndOf(each)))
}

function patientAtEndOf(reference: string): string {
  const [type, id = ''] = reference.slice(Math.max(0, reference.lastIndexOf('Patient/'))).split('/', 2)
  return `${type}/${id}`
}
