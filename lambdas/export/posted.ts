/** Parameters of a kick-off by POST. Specification 2.4, 4.5; https://hl7.org/fhir/uv/bulkdata/STU2/OperationDefinition-export.html */
import { fhirError } from '../fhir/outcome.ts'
import { type Element, isElement, type Resource } from '../fhir/resource.ts'
import { MOST_PARAMETERS, type Pairs } from '../search/pairs.ts'
import { MOST_PATIENTS } from './asked.ts'

const TEXT = ['valueString', 'valueCode']
const INSTANT = ['valueInstant', 'valueDateTime', 'valueString']

/** Each patient is one. */
const MOST_ENTRIES = MOST_PARAMETERS + MOST_PATIENTS

/** How each may be sent. */
const KINDS: ReadonlyMap<string, readonly string[]> = new Map([
  ['_outputFormat', TEXT],
  ['_type', TEXT],
  ['_elements', TEXT],
  ['_typeFilter', TEXT],
  ['_since', INSTANT],
  ['_until', INSTANT],
  ['patient', ['valueReference', 'valueString']],
])

/** As those of a URL. FhirError 400 that names the entry; a parameter that is none of an export's is left to who reads them. */
export function postedPairs(body: Resource): Pairs {
  if (body.resourceType !== 'Parameters') throw wrong('resourceType', 'The body of an export is Parameters')
  const { parameter = [] } = body
  if (!Array.isArray(parameter)) throw wrong('Parameters.parameter', 'Parameters.parameter is an array')
  if (parameter.length > MOST_ENTRIES) throw fhirError(400, 'too-costly', `An export takes at most ${MOST_ENTRIES} parameters`)
  return parameter.map((entry, i) => pairOf(entry, `Parameters.parameter[${i}]`))
}

function pairOf(entry: unknown, place: string): Pairs[number] {
  if (!isElement(entry) || typeof entry.name !== 'string' || entry.name === '') throw wrong(`${place}.name`, 'A parameter has a name')
  const { name } = entry
  const kinds = KINDS.get(name)
  const given = Object.keys(entry).filter((key) => /^(?:value[A-Z]|resource$|part$)/.test(key))
  if (kinds === undefined) return [name, '']
  if (given.length === 0) throw wrong(place, `${name} has no value: it is sent as ${kinds[0]}`)
  if (given.length > 1) throw wrong(place, `${name} has more than one value: one entry is sent for each`)
  const kind = given[0]!
  if (!kinds.includes(kind)) throw wrong(`${place}.value`, `${name} is sent as ${kinds.join(' or ')}, not as ${kind.slice(0, 64)}`)
  const text = kind === 'valueReference' ? referenceOf(entry[kind]) : entry[kind]
  if (typeof text !== 'string' || text === '') throw wrong(`${place}.value`, `${name} is empty, or no ${kind}`)
  return [name, text]
}

const referenceOf = (value: unknown): unknown => (isElement(value) ? (value as Element).reference : undefined)

const wrong = (place: string, text: string): Error => fhirError(400, 'value', text.slice(0, 300), place)
