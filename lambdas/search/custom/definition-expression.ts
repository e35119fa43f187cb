/**
 * Differences between the expressions of published SearchParameters and plain FHIRPath: JSON names of choice elements, and extensions that
 * stand for their values.
 */
import { R4 } from '../../fhir/definitions/r4.ts'
import type { Branch } from '../../fhir/path/branch.ts'

/** Cached JSON names of choice elements, such as `servicedDate`. `isOnly`: no element without a choice has this name. */
let choices: ReadonlyMap<string, { readonly isOnly: boolean }> | undefined
function choicesOfR4(): NonNullable<typeof choices> {
  choices ??= choicesIn(Object.values(R4.shapes).flatMap((shape) => Object.entries(shape.elements)))
  return choices
}

function choicesIn(elements: readonly (readonly [string, { readonly choice?: string }])[]): NonNullable<typeof choices> {
  const others = new Set(elements.filter(([, { choice }]) => choice === undefined).map(([key]) => key))
  return new Map(elements.filter(([, { choice }]) => choice !== undefined).map(([key]) => [key, { isOnly: !others.has(key) }]))
}

/** Matches string literals, delimited names and words. */
const WORD = /'(?:[^'\\]|\\.)*'|`[^`]*`|\w+/g

/** Returns the words of the expression that are JSON names of choice elements. `isOnly`: skips names that another element has too. */
export const choiceNamesIn = (expression: string, isOnly = false): readonly string[] =>
  (expression.match(WORD) ?? []).filter((word) => choicesOfR4().get(word)?.isOnly || (!isOnly && choicesOfR4().has(word)))

/** Returns the operands of the top-level union: `a | b.where(c | d)` has two. Returns the whole expression if it is no union. */
export function unionOperandsOf(expression: string): readonly string[] {
  const operands: string[] = []
  let [depth, from] = [0, 0]
  for (const { 0: token, index } of expression.matchAll(/'(?:[^'\\]|\\.)*'|`[^`]*`|[()|]/g)) {
    if (token === '(') depth++
    else if (token === ')') depth--
    else if (token === '|' && depth === 0) {
      operands.push(expression.slice(from, index).trim())
      from = index + 1
    }
  }
  return [...operands, expression.slice(from).trim()]
}

/** FHIR types of `value[x]` of an extension that each parameter type reads. https://hl7.org/fhir/R4/search.html#table */
const VALUE_TYPES: Readonly<Record<string, ReadonlySet<string>>> = {
  number: new Set(['decimal', 'integer', 'positiveInt', 'unsignedInt']),
  date: new Set(['date', 'dateTime', 'instant', 'Period', 'Timing']),
  string: new Set(['string', 'markdown', 'code', 'id', 'HumanName', 'Address']),
  token: new Set(['code', 'Coding', 'CodeableConcept', 'Identifier', 'ContactPoint', 'boolean', 'string', 'id', 'uri']),
  reference: new Set(['Reference', 'canonical', 'uri']),
  quantity: new Set(['Quantity', 'Age', 'Count', 'Distance', 'Duration', 'Money', 'Range', 'SampledData']),
  uri: new Set(['uri', 'url', 'canonical', 'oid', 'uuid']),
}

export const isExtension = ([type]: Branch): boolean => type === 'Extension'

/** Replaces a path that ends at an extension by the paths to its values that the parameter type reads. Returns any other path unchanged. */
export function valuesOfExtension(branch: Branch, parameterType: string): readonly Branch[] {
  if (!isExtension(branch)) return [branch]
  const [, ...steps] = branch
  return Object.entries(R4.shapes.Extension!.elements).flatMap(([key, { type, choice }]): readonly Branch[] =>
    choice === 'value' && VALUE_TYPES[parameterType]?.has(type) ? [[type, ...steps, key]] : [],
  )
}
