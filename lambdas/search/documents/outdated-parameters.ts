/** Finds the search parameters whose values in documents of an earlier release are unreliable. */
import { type Predicate, rulesOf, type SearchSubject } from '../../ports/search/plan.ts'
import { type ParameterType, parametersOf, type SearchParameter } from '../parameters.ts'
import type { SearchContext } from '../search-context.ts'
import type { FormatChanges } from './changed-keys.ts'

/**
 * Returns the codes of the parameters of a search that changed since its documents were built. `changesOf`: changes by type, undefined if
 * its documents have the current format.
 */
export function findOutdatedParameters(
  subject: SearchSubject,
  changesOf: (type: string) => FormatChanges | undefined,
  { custom }: SearchContext,
): readonly string[] {
  const found = new Set<string>()
  for (const type of subject.types) {
    const changes = changesOf(type)
    if (changes === undefined) continue
    const parameters = new Map(parametersOf(type, custom).map((each) => [each.field, each]))
    for (const field of fieldsOf(subject)) {
      const parameter = parameters.get(field)
      if (isChanged(changes, type, parameter)) found.add(parameter?.code ?? field)
    }
  }
  return [...found]
}

/** Returns the parameters' fields in the criteria, access rules, sorting and grouping of a search, without suffixes such as `:code`. */
function fieldsOf(subject: SearchSubject): ReadonlySet<string> {
  const fields = [subject.where, ...rulesOf(subject)].flatMap((each) => [...fieldsIn(each)])
  const all = [...fields, ...(subject.order ?? []).map(({ field }) => field), ...(subject.field === undefined ? [] : [subject.field])]
  return new Set(all.map((field) => field.split(':')[0]!))
}

function* fieldsIn(p: Predicate): Generator<string> {
  if (p.kind === 'all' || p.kind === 'some') {
    for (const each of p.of) yield* fieldsIn(each)
  } else if (p.kind === 'not') yield* fieldsIn(p.of)
  else if ('field' in p) yield p.field
}

function isChanged(changes: FormatChanges, type: string, parameter: SearchParameter | undefined): boolean {
  if (changes === 'all') return true
  if (parameter === undefined) return REFERENCE_TYPES.some((each) => changes.types.has(each))
  const { code, type: own, components } = parameter
  const isNamed = changes.parameters.has(`${type}.${code}`) || changes.parameters.has(`Resource.${code}`)
  return isNamed || [own, ...components.map((each) => each.type)].some((each) => changes.types.has(each))
}

/** A field that belongs to no parameter, such as the field of all references, counts as changed if one of these types changed. */
const REFERENCE_TYPES: readonly ParameterType[] = ['reference', 'uri']
