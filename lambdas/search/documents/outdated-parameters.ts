/** Which of the parameters that are asked by are not found reliably in documents of another release. */
import { type Predicate, rulesOf, type SearchSubject } from '../../ports/search/plan.ts'
import { type ParameterType, parametersOf, type SearchParameter } from '../parameters.ts'
import type { SearchContext } from '../search-context.ts'
import type { FormatChanges } from './changed-keys.ts'

/** Their codes, each once. `changesOf`: undefined where the type's documents are what is asked for. */
export function findOutdatedParameters(
  asked: SearchSubject,
  changesOf: (type: string) => FormatChanges | undefined,
  { custom }: SearchContext,
): readonly string[] {
  const found = new Set<string>()
  for (const type of asked.types) {
    const changes = changesOf(type)
    if (changes === undefined) continue
    const parameters = new Map(parametersOf(type, custom).map((each) => [each.field, each]))
    for (const field of fieldsOf(asked)) {
      const parameter = parameters.get(field)
      if (isChanged(changes, type, parameter)) found.add(parameter?.code ?? field)
    }
  }
  return [...found]
}

/** Without what is looked at of their values. */
function fieldsOf(asked: SearchSubject): ReadonlySet<string> {
  const fields = [asked.where, ...rulesOf(asked)].flatMap((each) => [...fieldsIn(each)])
  const all = [...fields, ...(asked.order ?? []).map(({ field }) => field), ...(asked.field === undefined ? [] : [asked.field])]
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
  if (parameter === undefined) return BY_REFERENCES.some((each) => changes.types.has(each))
  const { code, type: own, components } = parameter
  const isNamed = changes.parameters.has(`${type}.${code}`) || changes.parameters.has(`Resource.${code}`)
  return isNamed || [own, ...components.map((each) => each.type)].some((each) => changes.types.has(each))
}

/** Fields that are no parameter's: of all references, and of canonicals. */
const BY_REFERENCES: readonly ParameterType[] = ['reference', 'uri']
