/** Whether a filter holds on a version of which some values could not be found out. */
import type { Predicate } from '../../ports/search/plan.ts'
import type { IndexDocument } from '../../ports/search/search-index.ts'
import { matchesPredicate } from '../../search/evaluate.ts'

/** undefined: it depends on them. `unknown`: fields of parameters that failed on it. */
export function evaluatePartially(where: Predicate, document: IndexDocument, unknown: readonly string[]): boolean | undefined {
  if (unknown.length === 0) return matchesPredicate(where, document)
  switch (where.kind) {
    case 'not': {
      const holds = evaluatePartially(where.of, document, unknown)
      return holds === undefined ? undefined : !holds
    }
    case 'all':
    case 'some': {
      const ends = where.kind === 'some'
      const found = where.of.map((each) => evaluatePartially(each, document, unknown))
      return found.includes(ends) ? ends : found.includes(undefined) ? undefined : !ends
    }
    default:
      return [...fieldsIn(where)].some((field) => isFieldOf(field, unknown)) ? undefined : matchesPredicate(where, document)
  }
}

/** What a predicate looks at. */
export function* fieldsIn(where: Predicate): Iterable<string> {
  switch (where.kind) {
    case 'all':
    case 'some':
      for (const each of where.of) yield* fieldsIn(each)
      return
    case 'not':
      return yield* fieldsIn(where.of)
    case 'compartment':
      return
    default:
      yield where.field
  }
}

/** Fields of a document begin with the one of their parameter. */
export const isFieldOf = (field: string, parameters: readonly string[]): boolean =>
  parameters.some((parameter) => field === parameter || field.startsWith(`${parameter}:`))
