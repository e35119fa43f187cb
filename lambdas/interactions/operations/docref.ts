/**
 * `$docref`: finds the stored documents of a patient. The server generates none. The operation runs a search of DocumentReference, newest
 * first, and its paging links are those of that search. https://hl7.org/fhir/us/core/STU6.1/OperationDefinition-docref.html
 */
import { fhirError } from '../../fhir/outcome.ts'
import { MAX_SEARCH_PARAMETERS, type ParameterPairs } from '../../search/query/parameter-pairs.ts'
import { INSTANT_VALUE_NAMES, parsePostedParameters } from '../../search/query/posted-parameters.ts'
import type { FhirRequest, FhirResponse, Interaction } from '../interaction.ts'
import { search } from '../rest/search.ts'
import type { SearchPorts } from '../searching/page-entries.ts'
import { GENERAL_PARAMETERS, parseDateParameter, toQueryText } from '../searching/page-limits.ts'

const TYPE = 'DocumentReference'

export const docref = (ports: SearchPorts): Interaction => {
  const find = search(ports, ['r', 's'])
  return async (request) => {
    if (request.type !== TYPE) throw fhirError(404, 'not-supported', `There is no $docref of ${request.type}: only of ${TYPE}`)
    const posted = request.resource === undefined ? [] : parsePostedParameters(request.resource, POSTED)
    const asked = documentsAsked(request, [...request.parameters, ...posted])
    if (asked.isOnDemand) return nothing(request)
    return find({ ...request, parameters: searchFor(asked), posted: request.resource !== undefined })
  }
}

type Asked = {
  readonly patient: string
  readonly start?: string
  readonly end?: string
  readonly types: readonly string[]
  readonly profiles: readonly string[]
  /** Whether only documents generated on demand are requested. The server has none, so the result is empty. */
  readonly isOnDemand: boolean
  /** Parameters that shape the response, such as `_count`. The search receives them unchanged. */
  readonly others: ParameterPairs
}

/** Parameters of the operation. The values name the forms of value[x] that are accepted for each in a Parameters resource. */
const PARAMETERS: ReadonlyMap<string, readonly string[]> = new Map([
  ['patient', ['valueId', 'valueString', 'valueReference']],
  ['start', INSTANT_VALUE_NAMES],
  ['end', INSTANT_VALUE_NAMES],
  ['type', ['valueCoding', 'valueString', 'valueCode']],
  ['on-demand', ['valueBoolean']],
  ['profile', ['valueCanonical', 'valueUri', 'valueString']],
  ['_count', ['valueInteger', 'valueString']],
])

const POSTED = { to: '$docref', limit: MAX_SEARCH_PARAMETERS, kinds: PARAMETERS }

/** Parameters that shape the response. They mean the same as in a search. */
const ABOUT_THE_ANSWER: ReadonlySet<string> = new Set(['_count', ...GENERAL_PARAMETERS])

const isUsed = (name: string): boolean => PARAMETERS.has(name) || ABOUT_THE_ANSWER.has(name)

/**
 * Parses the parameters. Throws FhirError 400 if the patient is missing, if a parameter other than `type` and `profile` repeats, or for an
 * invalid value. With `handling=strict`, also for an unknown parameter.
 */
function documentsAsked({ preferences, reading }: FhirRequest, pairs: ParameterPairs): Asked {
  const unknown = pairs.find(([name]) => !isUsed(name))
  if (preferences.handling === 'strict' && unknown !== undefined)
    throw fhirError(400, 'not-found', `Unknown parameter ${unknown[0].slice(0, 100)} of $docref`)
  const all = (name: string): readonly string[] => pairs.flatMap(([other, value]) => (other === name ? [value] : []))
  const [start, end] = ['start', 'end'].map((name) => {
    // A plus sign that was not percent-encoded arrives as a space.
    const value = one(name, all(name))?.replace(' ', '+')
    return value === undefined ? undefined : { value, ...parseDateParameter(name, value, reading) }
  })
  if (start !== undefined && end !== undefined && end.high <= start.low) throw fhirError(400, 'value', 'The end is before the start')
  return {
    patient: patientIn(one('patient', all('patient'))),
    ...(start === undefined ? {} : { start: start.value }),
    ...(end === undefined ? {} : { end: end.value }),
    types: all('type'),
    profiles: all('profile'),
    isOnDemand: isTrue('on-demand', one('on-demand', all('on-demand'))),
    others: pairs.filter(([name, value]) => ABOUT_THE_ANSWER.has(name) && value !== ''),
  }
}

function one(name: string, values: readonly string[]): string | undefined {
  if (values.length > 1) throw fhirError(400, 'duplicate', `The parameter ${name} of $docref is sent once`)
  return values[0]
}

/** Returns the id of the patient. The value may also be a reference, `Patient/[id]`. */
function patientIn(value: string | undefined): string {
  if (value === undefined) throw fhirError(400, 'required', 'The parameter patient of $docref is missing: the id of a Patient')
  const id = value.startsWith('Patient/') ? value.slice('Patient/'.length) : value
  if (!/^[A-Za-z0-9\-.]{1,64}$/.test(id)) throw fhirError(400, 'value', 'The value of patient is not the id of a Patient')
  return id
}

function isTrue(name: string, value = 'false'): boolean {
  if (value !== 'true' && value !== 'false') throw fhirError(400, 'value', `The value of ${name} is not true or false`)
  return value === 'true'
}

/**
 * Returns the parameters of the search. `start` and `end` are dates of the documented care, not of the document. Without them the search
 * finds current documents only. With one of them it also finds superseded ones. It never finds documents with the status
 * `entered-in-error`.
 */
function searchFor({ patient, start, end, types, profiles, others }: Asked): ParameterPairs {
  const isAnyTime = start === undefined && end === undefined
  return [
    ['patient', `Patient/${patient}`],
    ['status', isAnyTime ? 'current' : 'current,superseded'],
    ...(start === undefined ? [] : [['period', `ge${start}`] as const]),
    ...(end === undefined ? [] : [['period', `le${end}`] as const]),
    ...(types.length === 0 ? [] : [['type', types.join(',')] as const]),
    ...(profiles.length === 0 ? [] : [['_profile', profiles.join(',')] as const]),
    ['_sort', '-date'],
    ...others,
  ]
}

/**
 * Returns an empty searchset, because the server generates no documents on demand. Its link shows the used parameters of the URL, but none
 * of a body, because URLs are logged.
 */
function nothing({ baseUrl, parameters }: FhirRequest): FhirResponse {
  const used = parameters.filter(([name]) => isUsed(name))
  const url = `${baseUrl}/${TYPE}/$docref${used.length === 0 ? '' : `?${toQueryText(used)}`}`
  return { status: 200, body: { kind: 'bundle', type: 'searchset', total: 0, link: [{ relation: 'self', url }], entries: [] } }
}
