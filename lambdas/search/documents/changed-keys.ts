/**
 * Changes of index keys with each number of the extractor and of the parameter registry. An index of another release does not find changed
 * parameters reliably until it is rebuilt. A release that raises a number adds a row.
 */
import type { ParameterType } from '../parameters.ts'

/**
 * Parameter types whose keys or index fields differ from those of the number before. A new kind of field counts for all types that use it.
 */
export const CHANGED_TYPES_BY_EXTRACTOR: Readonly<Record<number, readonly ParameterType[]>> = {
  9: ['token', 'string', 'date', 'reference', 'uri', 'number', 'quantity', 'composite', 'special'],
  10: ['quantity', 'composite'],
  // An index on AWS retains the source from which it is copied. Its keys stay the same.
  11: [],
}

/** Registry numbers in order, with the parameters that are new or select other values than before, such as `Patient.name`. */
export const REGISTRY_HISTORY: readonly { readonly number: number; readonly changed: readonly string[] }[] = [
  { number: 1552649111, changed: [] },
]

/** Document format of one release: the numbers of its extractor and registry, and its search context (`reading`). */
export type DocumentFormat = { readonly extractor: number; readonly registry: number; readonly reading: Readonly<Record<string, unknown>> }

export type FormatChanges = 'all' | { readonly types: ReadonlySet<ParameterType>; readonly parameters: ReadonlySet<string> }

/** Returns the changes between two document formats. Returns `all` if a change is not recorded, as for a newer `built`. */
export function formatChangesBetween(built: DocumentFormat, now: DocumentFormat): FormatChanges {
  const types = changedTypes(built.extractor, now.extractor)
  const parameters = changedParameters(built.registry, now.registry)
  const read = typesChangedByContext(built.reading, now.reading)
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

/** Parameter types that depend on each property of the search context. */
const TYPES_BY_CONTEXT: Readonly<Record<string, readonly ParameterType[]>> = { baseUrl: ['reference', 'uri'], timeZone: ['date'] }

function typesChangedByContext(from: DocumentFormat['reading'], to: DocumentFormat['reading']): readonly ParameterType[] | undefined {
  const changed = [...new Set([...Object.keys(from), ...Object.keys(to)])].filter(
    (name) => JSON.stringify(from[name]) !== JSON.stringify(to[name]),
  )
  const types = changed.map((name) => TYPES_BY_CONTEXT[name])
  return types.includes(undefined) ? undefined : types.flatMap((each) => each ?? [])
}
