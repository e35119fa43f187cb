/** Partial evaluation: decides a filter although some values of the version are unknown. */
import type { Predicate } from '../../ports/search/plan.ts'
import type { IndexDocument } from '../../ports/search/search-index.ts'
import { matchesPredicate } from '../../search/evaluate.ts'

/**
 * Returns whether the filter holds, or undefined if that depends on unknown values. `unknown`: fields of parameters whose evaluation
 * failed.
 */
export function evaluatePartially(predicate: Predicate, document: IndexDocument, unknown: readonly string[]): boolean | undefined {
  if (unknown.length === 0) return matchesPredicate(predicate, document)
  switch (predicate.kind) {
    case 'not': {
      const holds = evaluatePartially(predicate.of, document, unknown)
      return holds === undefined ? undefined : !holds
    }
    case 'all':
    case 'some': {
      const ends = predicate.kind === 'some'
      const found = predicate.of.map((each) => evaluatePartially(each, document, unknown))
      return found.includes(ends) ? ends : found.includes(undefined) ? undefined : !ends
    }
    default:
      return [...fieldsIn(predicate)].some((field) => isFieldOf(field, unknown)) ? undefined : matchesPredicate(predicate, document)
  }
}

/** Returns the fields that a predicate uses, with duplicates. */
export function* fieldsIn(predicate: Predicate): Iterable<string> {
  switch (predicate.kind) {
    case 'all':
    case 'some':
      for (const each of predicate.of) yield* fieldsIn(each)
      return
    case 'not':
      return yield* fieldsIn(predicate.of)
    case 'compartment':
      return
    default:
      yield predicate.field
  }
}

/** Whether the field belongs to one of the parameters. Field names start with the field of their parameter. */
export const isFieldOf = (field: string, parameters: readonly string[]): boolean =>
  parameters.some((parameter) => field === parameter || field.startsWith(`${parameter}:`))
