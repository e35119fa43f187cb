/** Trees with the content of a resource in other shapes: lists where objects belong, objects where lists belong, nulls. */
import { isElement } from '../../../lambdas/fhir/resource.ts'
import type { Random } from '../../contracts/generated-search.ts'

/** Returns a copy in which about one value of twelve has another shape. */
export function oddShapeOf(tree: unknown, random: Random): unknown {
  const inner = Array.isArray(tree)
    ? tree.map((item) => oddShapeOf(item, random))
    : isElement(tree)
      ? Object.fromEntries(Object.entries(tree).map(([name, value]) => [name, oddShapeOf(value, random)]))
      : tree
  switch (random.below(48)) {
    case 0:
      return [inner]
    case 1:
      return [null, inner]
    case 2:
      return [[inner], 5, 'text']
    case 3:
      return Array.isArray(inner) && inner.length > 0 ? inner[0] : inner
    default:
      return inner
  }
}
