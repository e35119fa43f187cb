/** Filters of a search as text, and as rows of a form. Both stand for one list of pairs of a name and a value. */

export type Pair = readonly [name: string, value: string]

/** Search parameter that the server offers. `type`: as in a SearchParameter. `targets`: types that a reference may refer to. */
export type Parameter = {
  readonly name: string
  readonly type: string
  readonly documentation?: string
  readonly targets: readonly string[]
}

/**
 * Pair as a form shows it. `comparison`: a modifier with its colon, a prefix of the value, or empty. `choices`: comparisons that the server
 * supports. Without choices `parameter` and `value` are the pair as it is.
 */
export type Row = {
  readonly parameter: string
  readonly comparison: string
  readonly value: string
  readonly choices: readonly string[]
}

/** Returns the pairs of a query as a person types it, decoded. A question mark before it is ignored. */
export const pairsOf = (text: string): readonly Pair[] => [...new URLSearchParams(text.trim())]

/** Returns the query of an address with these pairs. */
export const queryOf = (pairs: readonly Pair[]): string => new URLSearchParams(pairs.map((pair) => [...pair])).toString()

/** Returns a text that `pairsOf` turns into these pairs: decoded for a person to read, if it means the same then. */
export function textOf(pairs: readonly Pair[]): string {
  const query = queryOf(pairs)
  const text = pairs.map((pair) => pair.join('=')).join('&')
  return !/[%\p{Cc}]/u.test(text) && queryOf(pairsOf(text)) === query ? text : query
}

/** Modifiers of each type of parameter that the server supports. */
export const MODIFIERS: ReadonlyMap<string, readonly string[]> = new Map([
  ['composite', []],
  ['date', []],
  ['number', []],
  ['quantity', []],
  ['reference', ['identifier']],
  ['special', []],
  ['string', ['exact', 'contains']],
  ['token', ['not', 'text', 'of-type']],
  ['uri', ['below', 'above']],
])

export const PREFIXES: readonly string[] = ['eq', 'ne', 'gt', 'ge', 'lt', 'le', 'sa', 'eb', 'ap']

const ORDERED: ReadonlySet<string> = new Set(['date', 'number', 'quantity'])

/** Parameters for resources of all types that are criteria. The others with an underscore shape the response. */
const SHARED: ReadonlySet<string> = new Set(['_id', '_lastUpdated', '_profile', '_security', '_source', '_tag'])

/** Whether a parameter restricts the matches. `name`: with its modifier. The others shape the response, such as `_sort`. */
export const isCriterion = (name: string): boolean => !name.startsWith('_') || name.startsWith('_has:') || SHARED.has(name.split(':')[0]!)

/** Returns the comparisons that the server supports for a parameter, the empty one first. None: the parameter takes a value only. */
export function comparisonsOf({ name, type, targets }: Parameter): readonly string[] {
  const modifiers = MODIFIERS.get(type)
  const isText = modifiers === undefined || type === 'composite' || (name.startsWith('_') && !SHARED.has(name))
  // The parameters `address` search in all parts of an Address, and support no modifier.
  if (isText || (type === 'string' && name === 'address')) return []
  return ['', ...(ORDERED.has(type) ? PREFIXES : []), ...[...modifiers, ...targets, 'missing'].map((each) => `:${each}`)]
}

/**
 * Returns the row of a pair. Chains, parameters that the server does not list, and comparisons that it does not support are text. `pairOf`
 * returns the same pair again.
 */
export function rowOf([name, value]: Pair, parameters: ReadonlyMap<string, Parameter>): Row {
  const text: Row = { parameter: name, comparison: '', value, choices: [] }
  const colon = name.indexOf(':')
  const parameter = parameters.get(colon === -1 ? name : name.slice(0, colon))
  if (parameter === undefined) return text
  const choices = comparisonsOf(parameter)
  if (colon !== -1) {
    const comparison = name.slice(colon)
    return choices.includes(comparison) ? { parameter: parameter.name, comparison, value, choices } : text
  }
  // Each of several values has its own prefix.
  if (choices.length === 0 || (choices.includes('ge') && value.includes(','))) return text
  const comparison = prefixOf(value, choices)
  return { parameter: name, comparison, value: value.slice(comparison.length), choices }
}

/** Returns the pair of a row. */
export const pairOf = ({ parameter, comparison, value }: Row): Pair =>
  comparison.startsWith(':') ? [`${parameter}${comparison}`, value] : [parameter, `${comparison}${value}`]

/** Returns the row with another value. A prefix that the person types replaces the chosen one. */
export const withValue = (row: Row, value: string): Row =>
  prefixOf(value, row.choices) === '' ? { ...row, value } : { ...row, comparison: '', value }

/** Returns the row with another comparison. `:missing` takes true or false only, so its value begins as true. */
export function withComparison(row: Row, comparison: string): Row {
  const isFlag = comparison === ':missing'
  return { ...row, comparison, value: isFlag === (row.comparison === ':missing') ? row.value : isFlag ? 'true' : '' }
}

const prefixOf = (value: string, choices: readonly string[]): string => {
  const start = value.slice(0, 2)
  return PREFIXES.includes(start) && choices.includes(start) ? start : ''
}
