/** Somebody's own parameters that are watched, or evaluated elsewhere, are evaluated on many resources at once, before extraction. */
import type { Resource } from '../../fhir/resource.ts'
import type { ExpressionRunner } from '../../ports/execution/expression-runner.ts'
import { parametersOf } from '../parameters.ts'
import type { SearchContext } from '../search-context.ts'

/** The resources know their values of these parameters from now on. */
export async function evaluateAhead(
  resources: readonly Resource[],
  { custom = [] }: SearchContext,
  expressions: ExpressionRunner,
): Promise<void> {
  if (custom.length === 0) return
  for (const [type, some] of Map.groupBy(resources, ({ resourceType }) => resourceType))
    for (const { ahead } of parametersOf(type, custom)) await ahead?.(some, expressions)
}
