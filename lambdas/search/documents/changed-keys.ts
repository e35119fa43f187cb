/**
 * What each number of the extractor, and of the registry of parameters, changes about keys: until an index that was made by another release is
 * made anew, what is asked by these parameters is not found in it reliably. A release adds a row where it raises a number.
 */
import type { ParameterType } from '../parameters.ts'

/** Types of parameters whose keys, or fields in an index, are others than by the number before; a folder of fields that is new counts for all that it is for. */
export const CHANGED_TYPES_BY_EXTRACTOR: Readonly<Record<number, readonly ParameterType[]>> = {
  9: ['token', 'string', 'date', 'reference', 'uri', 'number', 'quantity', 'composite', 'special'],
  10: ['quantity', 'composite'],
  // An index on AWS keeps what a copy of it is made from. Keys stay as they were.
  11: [],
}

/** Registries in their order, with the parameters that are new or select other values than in the one before, as `Patient.name`. */
export const REGISTRY_HISTORY: readonly { readonly number: number; readonly changed: readonly string[] }[] = [
  { number: 1552649111, changed: [] },
]

/** Documents as one release makes them: numbers of its extractor and registry, and how it reads texts. */
export type DocumentFormat = { readonly extractor: number; readonly registry: number; readonly reading: Readonly<Record<string, unknown>> }

export type FormatChanges = 'all' | { readonly types: ReadonlySet<ParameterType>; readonly parameters: ReadonlySet<string> }

/** `all`: who is older knows not what a newer one changed, and nobody what is not written down. */
export function formatChangesBetween(made: DocumentFormat, now: DocumentFormat): FormatChanges {
  const types = changedTypes(made.extractor, now.extractor)
  const parameters = changedParameters(made.registry, now.registry)
  const read = changedByReading(made.reading, now.reading)
  if (types === undefined || parameters === undefined || read === undefined) return 'all'
  return { types: new Set([...types, ...read]), parameters: new Set(parameters) }
}

function changedTypes(from: number, to: number): readonly ParameterType[] | undefined {
  if (from > to) return undefined
  const rows = Array.from({ length: to - from }, (_, i) => CHANGED_TYPES_BY_EXTRACTOR[from + 1 + i])
  return rows.includes(undefined) ? undefined : rows.flatMap((row) => row ?? [])
}

function changedParameters(from: number, to: number): readonly string[] | undefined {
  const [first, last] = [from, to].map((number) => REGISTRY_HISTORY.findIndex((each) => each.number === number)) as [number, number]
  if (from === to) return []
  return first === -1 || last < first ? undefined : REGISTRY_HISTORY.slice(first + 1, last + 1).flatMap(({ changed }) => changed)
}

/** What of a reading counts for which parameters. */
const OF_READING: Readonly<Record<string, readonly ParameterType[]>> = { baseUrl: ['reference', 'uri'], timeZone: ['date'] }

function changedByReading(from: DocumentFormat['reading'], to: DocumentFormat['reading']): readonly ParameterType[] | undefined {
  const changed = [...new Set([...Object.keys(from), ...Object.keys(to)])].filter(
    (name) => JSON.stringify(from[name]) !== JSON.stringify(to[name]),
  )
  const types = changed.map((name) => OF_READING[name])
  return types.includes(undefined) ? undefined : types.flatMap((each) => each ?? [])
}
