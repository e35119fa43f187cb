/**
 * Records which index keys changed with each number of the extractor and of the parameter registry. Until an older index is rebuilt,
 * searches by a changed parameter may miss resources. Each release that changes a number adds an entry.
 */
import type { ParameterType } from '../parameters.ts'

/**
 * Parameter types whose keys or index fields differ from those of the previous extractor, by extractor number. A new kind of field counts
 * for all types that use it.
 */
export const CHANGED_TYPES_BY_EXTRACTOR: Readonly<Record<number, readonly ParameterType[]>> = {
  9: ['token', 'string', 'date', 'reference', 'uri', 'number', 'quantity', 'composite', 'special'],
  10: ['quantity', 'composite'],
  // Number 11 makes indexes on AWS retain the sources of documents, so that copies of a shard are complete. No key changed.
  11: [],
  // Number 12 makes the rebuild on AWS add the identifier rows of resources that were written before rows existed. No key changed.
  12: [],
}

/** Registry numbers, oldest first. `changed`: parameters that are new or select other values than before, such as `Patient.name`. */
export const REGISTRY_HISTORY: readonly { readonly number: number; readonly changed: readonly string[] }[] = [
  { number: 1552649111, changed: [] },
  { number: 284942121, changed: ['Coverage.subscriber-id'] },
]

/** Document format of a release: number of its extractor, number of its registry, and its search context (`reading`). */
export type DocumentFormat = { readonly extractor: number; readonly registry: number; readonly reading: Readonly<Record<string, unknown>> }

export type FormatChanges = 'all' | { readonly types: ReadonlySet<ParameterType>; readonly parameters: ReadonlySet<string> }

/**
 * Returns what changed from the format of an index (`built`) to the current one (`now`). Returns `all` if the changes are not recorded, for
 * example if `built` is newer.
 */
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

/**
 * Parameter types whose keys depend on a property of the search context, by property. A change of any other property affects all
 * parameters.
 */
const TYPES_BY_CONTEXT: Readonly<Record<string, readonly ParameterType[]>> = { baseUrl: ['reference', 'uri'], timeZone: ['date'] }

function typesChangedByContext(from: DocumentFormat['reading'], to: DocumentFormat['reading']): readonly ParameterType[] | undefined {
  const changed = [...new Set([...Object.keys(from), ...Object.keys(to)])].filter(
    (name) => JSON.stringify(from[name]) !== JSON.stringify(to[name]),
  )
  const types = changed.map((name) => TYPES_BY_CONTEXT[name])
  return types.includes(undefined) ? undefined : types.flatMap((each) => each ?? [])
}
