/** Size of compiled FHIRPath when it is written out. A shared part counts each time it occurs. */
import type { CompiledExpression } from './compiled-expression.ts'

/** Cached sizes of steps and expressions, which never change. */
const SIZES = new WeakMap<object, number>()

function weightOf(part: unknown): number {
  if (typeof part !== 'object' || part === null) return 1
  const cached = SIZES.get(part)
  if (cached !== undefined) return cached
  let weight = 1
  for (const each of part as readonly unknown[]) weight += weightOf(each)
  SIZES.set(part, weight)
  return weight
}

export function expressionSizeOf(compiled: CompiledExpression): number {
  if (!('items' in compiled)) return weightOf(compiled.value)
  let weight = 1
  for (const { steps } of compiled.items) for (const step of steps) weight += weightOf(step)
  return weight
}
