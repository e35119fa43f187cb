/** Evaluates slow and interpreted custom parameters on many resources at once, before extraction. */
import type { Resource } from '../../fhir/resource.ts'
import type { ExpressionRunner } from '../../ports/execution/expression-runner.ts'
import { parametersOf } from '../parameters.ts'
import type { SearchContext } from '../search-context.ts'

/** Evaluates the parameters in advance. Extraction of these resource objects then finds the values. */
export async function evaluateAhead(
  resources: readonly Resource[],
  { custom = [] }: SearchContext,
  expressions: ExpressionRunner,
): Promise<void> {
  if (custom.length === 0) return
  for (const [type, group] of Map.groupBy(resources, ({ resourceType }) => resourceType))
    for (const { ahead } of parametersOf(type, custom)) await ahead?.(group, expressions)
}
