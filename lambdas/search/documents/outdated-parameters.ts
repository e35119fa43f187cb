/** Finds the parameters of a search that are unreliable in documents of another release. */
import { type Predicate, rulesOf, type SearchSubject } from '../../ports/search/plan.ts'
import { type ParameterType, parametersOf, type SearchParameter } from '../parameters.ts'
import type { SearchContext } from '../search-context.ts'
import type { FormatChanges } from './changed-keys.ts'

/** Returns their codes, each once. `changesOf`: undefined if the documents of the type have the current format. */
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

/** Returns the field names without the suffix for a part of their values, such as `:code`. */
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

/** Parameter types for the fields without a parameter: all references, and canonical URLs. */
const REFERENCE_TYPES: readonly ParameterType[] = ['reference', 'uri']
