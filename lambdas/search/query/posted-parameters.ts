/**
 * Converts the Parameters resource of a POST operation to pairs as in a URL. Section 2.4 of the service's specification;
 * https://hl7.org/fhir/R4/operations.html#request
 */
import { fhirError } from '../../fhir/outcome.ts'
import { type Element, isElement, type Resource } from '../../fhir/resource.ts'
import { escapeValue } from '../types/search-type.ts'
import type { ParameterPairs } from './parameter-pairs.ts'

export const TEXT_VALUE_NAMES = ['valueString', 'valueCode']
export const INSTANT_VALUE_NAMES = ['valueInstant', 'valueDateTime', 'valueString']

/**
 * Parameters that an operation accepts. `to`: name of the operation in messages. `limit`: maximum entries. `kinds`: accepted value elements
 * (`valueString` …) by parameter name.
 */
export type PostedParametersFormat = { readonly to: string; readonly limit: number; readonly kinds: ReadonlyMap<string, readonly string[]> }

/**
 * Returns the pairs. Throws FhirError 400 for too many entries, or for a malformed one, which it names. An unknown parameter becomes a pair
 * with an empty value.
 */
export function parsePostedParameters(body: Resource, { to, limit, kinds }: PostedParametersFormat): ParameterPairs {
  if (body.resourceType !== 'Parameters') throw invalid('resourceType', `The body of ${to} is Parameters`)
  const { parameter = [] } = body
  if (!Array.isArray(parameter)) throw invalid('Parameters.parameter', 'Parameters.parameter is an array')
  if (parameter.length > limit)
    throw fhirError(400, 'too-costly', `${to[0]!.toUpperCase()}${to.slice(1)} takes at most ${limit} parameters`)
  return parameter.map((entry, i) => pairOf(entry, `Parameters.parameter[${i}]`, kinds))
}

function pairOf(entry: unknown, location: string, kindsOf: PostedParametersFormat['kinds']): ParameterPairs[number] {
  if (!isElement(entry) || typeof entry.name !== 'string' || entry.name === '') throw invalid(`${location}.name`, 'A parameter has a name')
  const { name } = entry
  const kinds = kindsOf.get(name)
  const members = Object.keys(entry).filter((key) => /^(?:value[A-Z]|resource$|part$)/.test(key))
  if (kinds === undefined) return [name, '']
  if (members.length === 0) throw invalid(location, `${name} has no value: it is sent as ${kinds[0]}`)
  if (members.length > 1) throw invalid(location, `${name} has more than one value: one entry is sent for each`)
  const kind = members[0]!
  if (!kinds.includes(kind)) throw invalid(`${location}.value`, `${name} is sent as ${kinds.join(' or ')}, not as ${kind.slice(0, 64)}`)
  const text = textOf(entry[kind], kind)
  if (text === undefined) throw invalid(`${location}.value`, `${name} is empty, or no ${kind}`)
  return [name, text]
}

function textOf(value: unknown, kind: string): string | undefined {
  if (kind === 'valueInteger') return typeof value === 'number' ? String(value) : undefined
  if (kind === 'valueBoolean') return typeof value === 'boolean' ? String(value) : undefined
  if (kind === 'valueCoding') return isElement(value) ? tokenOf(value) : undefined
  const text = kind === 'valueReference' && isElement(value) ? (value as Element).reference : value
  return typeof text === 'string' && text !== '' ? text : undefined
}

/** Returns a Coding as a search value: `system|code`, or `code` without a system. Returns undefined if both are missing or not texts. */
function tokenOf({ system = '', code = '' }: Element): string | undefined {
  if (typeof system !== 'string' || typeof code !== 'string' || `${system}${code}` === '') return undefined
  const [before, after] = [system, code].map(escapeValue)
  return before === '' ? after : `${before}|${after}`
}

const invalid = (location: string, text: string): Error => fhirError(400, 'value', text.slice(0, 300), location)
