/** Deep copies for patches. Nesting depth and a work budget limit them, because each `copy` of a JSON Patch can double a resource. */
import { type FhirError, fhirError } from './outcome.ts'
import { CHARACTERS_PER_ITEM, spendWork, type WorkBudget } from './path/work-budget.ts'

/**
 * Returns a deep copy. `levels`: maximum nesting of objects and arrays; a deeper tree throws FhirError 422. Throws TooCostly if the copy
 * exceeds the work budget.
 */
export function copyBounded(tree: unknown, levels: number, work: WorkBudget): unknown {
  spendWork(work, typeof tree === 'string' ? 1 + tree.length / CHARACTERS_PER_ITEM : 1)
  if (typeof tree !== 'object' || tree === null) return tree
  if (levels <= 0) throw tooDeep()
  if (Array.isArray(tree)) return tree.map((item) => copyBounded(item, levels - 1, work))
  const copy: Record<string, unknown> = {}
  for (const key of Object.keys(tree)) copy[key] = copyBounded((tree as Record<string, unknown>)[key], levels - 1, work)
  return copy
}

/** Throws FhirError 422 if objects and arrays are nested deeper than `levels`. */
export function checkDepth(tree: unknown, levels: number): void {
  if (typeof tree !== 'object' || tree === null) return
  if (levels <= 0) throw tooDeep()
  for (const each of Object.values(tree)) checkDepth(each, levels - 1)
}

const tooDeep = (): FhirError => fhirError(422, 'structure', 'The patch nests elements deeper than a resource may be')
