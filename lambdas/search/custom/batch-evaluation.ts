/** Evaluates slow and interpreted custom parameters on many resources together, before their index documents are extracted. */
import type { Resource } from '../../fhir/resource.ts'
import type { ExpressionRunner } from '../../ports/execution/expression-runner.ts'
import { parametersOf } from '../parameters.ts'
import type { SearchContext } from '../search-context.ts'

/** Evaluates slow and interpreted parameters, and binds the values to these resource objects. The extraction must get the same objects. */
export async function evaluateAhead(
  resources: readonly Resource[],
  { custom = [] }: SearchContext,
  expressions: ExpressionRunner,
): Promise<void> {
  if (custom.length === 0) return
  for (const [type, group] of Map.groupBy(resources, ({ resourceType }) => resourceType))
    for (const { ahead } of parametersOf(type, custom)) await ahead?.(group, expressions)
}
