/** One criterion of a search: a name with its modifier or chain, and a value. https://hl7.org/fhir/R4/search.html */
import { type FhirError, fhirError } from '../../fhir/outcome.ts'
import { isResourceType } from '../../fhir/resource-types.ts'
import { not, or, type Predicate } from '../../ports/search/plan.ts'
import { mayBeCanonical } from '../canonical.ts'
import { findSearchParameter, type SearchParameter } from '../parameters.ts'
import { type QueryContext, splitValue } from '../types/search-type.ts'
import { SEARCH_TYPES } from '../types/search-types.ts'
import { isAddress } from '../types/string.ts'
import type { Condition } from './condition.ts'
import { type QueryBudget, spendTypes, spendValues } from './query-budget.ts'

/**
 * Maximum values of one criterion that are not exact keys, such as ranges and prefixes. A criterion with more is answered 400. Exact keys
 * are not limited here, because the index looks them up together.
 */
const MAX_RANGES = 100
/** Maximum links of a chain. A longer chain is answered 400. */
const MAX_DEPTH = 4

/** Position in a chain. `depth`: number of links before it. `left`: rest of the query budget. */
type ChainPosition = { readonly depth: number; readonly left: QueryBudget }

function further({ depth, left }: ChainPosition, types: number): ChainPosition {
  spendTypes(left, types)
  return { depth: depth + 1, left }
}

/**
 * Returns the condition of a criterion, or undefined if the type has no such parameter or the server cannot search by it. Throws FhirError
 * 400 for a malformed value, an unsupported modifier, a chain that is too long, or an exceeded query budget.
 */
export const criterionOf = (
  type: string | undefined,
  name: string,
  value: string,
  context: QueryContext,
  left: QueryBudget,
): Condition | undefined => at({ depth: 0, left }, type, name, value, context)

function at(position: ChainPosition, type: string | undefined, name: string, value: string, context: QueryContext): Condition | undefined {
  if (position.depth > MAX_DEPTH) throw fhirError(400, 'too-costly', `Chains have at most ${MAX_DEPTH} links`)
  if (name.startsWith('_has:')) return type === undefined ? undefined : reverseChain(position, type, name, value, context)
  const dot = name.indexOf('.')
  if (dot !== -1) return chain(position, type, name.slice(0, dot), name.slice(dot + 1), value, context)
  const [code = '', ...modifiers] = name.split(':')
  const parameter = findSearchParameter(type ?? 'Resource', code, context.custom)
  if (parameter === undefined || !isSearchable(parameter)) return undefined
  return lower(parameter, modifiers.length === 0 ? undefined : modifiers.join(':'), value, context, position.left)
}

/** Whether the server can search by the parameter. */
export const isSearchable = ({ type, url }: SearchParameter): boolean => SEARCH_TYPES[type] !== undefined && !isPhonetic(url)

/**
 * Whether this is an R4 parameter that compares the sound of names. The server does not support it: comparing the text would miss names
 * that sound alike.
 */
const isPhonetic = (url: string): boolean => /^http:\/\/hl7\.org\/fhir\/SearchParameter\/[A-Za-z]+-phonetic$/.test(url)

/**
 * Parses a chain: `subject.name` or `subject:Patient.name`. Skips target types without the parameter. Returns undefined if no type is left.
 */
function chain(
  position: ChainPosition,
  type: string | undefined,
  head: string,
  rest: string,
  value: string,
  context: QueryContext,
): Condition | undefined {
  const [code = '', target, ...more] = head.split(':')
  const parameter = findSearchParameter(type ?? 'Resource', code, context.custom)
  if (parameter === undefined) return undefined
  if (parameter.type !== 'reference' || more.length > 0)
    throw fhirError(400, 'not-supported', `The parameter ${code} is no reference: it cannot be followed`)
  if (target !== undefined && !parameter.targets.includes(target))
    throw fhirError(400, 'value', `The parameter ${code} does not refer to ${target.slice(0, 50)}`)
  const types = target === undefined ? parameter.targets : [target]
  const next = further(position, types.length)
  const to = types.flatMap((type) => {
    const condition = at(next, type, rest, value, context)
    return condition === undefined ? [] : [{ type, where: condition }]
  })
  return to.length === 0 ? undefined : { kind: 'refers', field: parameter.field, byCanonical: mayBeCanonical(parameter), to }
}

/** Parses a reverse chain: `_has:Observation:patient:code`. */
function reverseChain(position: ChainPosition, type: string, name: string, value: string, context: QueryContext): Condition | undefined {
  const [, referrer = '', code = '', ...rest] = name.split(':')
  if (!isResourceType(referrer) || rest.length === 0)
    throw fhirError(400, 'value', 'A reverse chain is of the form _has:Type:reference parameter:parameter')
  const parameter = findSearchParameter(referrer, code, context.custom)
  if (parameter === undefined) return undefined
  if (parameter.type !== 'reference' || !parameter.targets.includes(type))
    throw fhirError(400, 'value', `The parameter ${code.slice(0, 50)} of ${referrer} does not refer to ${type}`)
  const condition = at(further(position, 1), referrer, rest.join(':'), value, context)
  return condition === undefined
    ? undefined
    : { kind: 'referredBy', type, by: referrer, field: parameter.field, byCanonical: mayBeCanonical(parameter), where: condition }
}

/** Returns the predicate of a criterion: the parameter has one of the values. `:not=a,b`: it has neither. */
function lower(
  parameter: SearchParameter,
  modifier: string | undefined,
  value: string,
  context: QueryContext,
  left: QueryBudget,
): Predicate {
  const { code, type } = parameter
  const searchType = SEARCH_TYPES[type]!
  if (modifier === 'missing') return missing(parameter, value)
  const isTarget = type === 'reference' && modifier !== undefined && parameter.targets.includes(modifier)
  if (modifier !== undefined && !isTarget && !searchType.modifiers.includes(modifier))
    throw fhirError(400, 'not-supported', `The modifier :${modifier.slice(0, 50)} is not supported on the parameter ${code}`)
  const values = splitValue(value, ',').filter((each) => each.trim() !== '')
  if (values.length === 0) throw fhirError(400, 'value', `The parameter ${code} has no value`)
  spendValues(left, values.length)
  const each: Predicate[] = []
  let ranges = 0
  for (const text of values) {
    const predicate = searchType.lower(parameter, text, modifier, context)
    if (predicate.kind !== 'key' && ++ranges > MAX_RANGES)
      throw fhirError(400, 'too-costly', `The parameter ${code} takes at most ${MAX_RANGES} such values`)
    each.push(predicate)
  }
  return modifier === 'not' ? not(merged(each)) : merged(each)
}

/** Returns the predicate that is true if any of these is. Joins the keys of one field into one lookup. */
function merged(predicates: readonly Predicate[]): Predicate {
  const keys = new Map<string, string[]>()
  const others: Predicate[] = []
  for (const predicate of predicates)
    if (predicate.kind !== 'key') others.push(predicate)
    else if (keys.has(predicate.field)) keys.get(predicate.field)!.push(...predicate.oneOf)
    else keys.set(predicate.field, [...predicate.oneOf])
  return or(...[...keys].map(([field, oneOf]): Predicate => ({ kind: 'key', field, oneOf: [...new Set(oneOf)] })), ...others)
}

function missing(parameter: SearchParameter, value: string): Predicate {
  const { code } = parameter
  if (parameter.type === 'composite')
    throw fhirError(400, 'not-supported', `The parameter ${code} is a composite: the modifier :missing is not supported`)
  if (isAddress(parameter))
    throw fhirError(400, 'not-supported', `The parameter ${code} is an address: the modifier :missing is not supported`)
  if (value !== 'true' && value !== 'false') throw invalidValueError(`${code}:missing`, 'true or false')
  const present: Predicate = { kind: 'present', field: parameter.field }
  return value === 'true' ? not(present) : present
}

export const invalidValueError = (name: string, expected: string): FhirError =>
  fhirError(400, 'value', `The value of ${name} is not ${expected}`)
