/** Copies of parts of a resource, no larger and no deeper than a resource may be. */
import { type FhirError, fhirError } from './outcome.ts'
import { CHARACTERS_PER_ITEM, spendWork, type WorkBudget } from './path/work-budget.ts'

/** `levels`: of objects and arrays it may be nested in; FhirError 422 where it is deeper. TooCostly where it is larger than the work that is left. */
export function copyBounded(tree: unknown, levels: number, work: WorkBudget): unknown {
  spendWork(work, typeof tree === 'string' ? 1 + tree.length / CHARACTERS_PER_ITEM : 1)
  if (typeof tree !== 'object' || tree === null) return tree
  if (levels <= 0) throw tooDeep()
  if (Array.isArray(tree)) return tree.map((item) => copyBounded(item, levels - 1, work))
  const copy: Record<string, unknown> = {}
  for (const key of Object.keys(tree)) copy[key] = copyBounded((tree as Record<string, unknown>)[key], levels - 1, work)
  return copy
}

/** FhirError 422 where a tree is nested deeper. */
export function checkDepth(tree: unknown, levels: number): void {
  if (typeof tree !== 'object' || tree === null) return
  if (levels <= 0) throw tooDeep()
  for (const each of Object.values(tree)) checkDepth(each, levels - 1)
}

const tooDeep = (): FhirError => fhirError(422, 'structure', 'The patch nests elements deeper than a resource may be')
