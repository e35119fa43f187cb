/** Checks whether searches can use an expression that is not compiled. */
import { isResourceType } from '../../fhir/resource-types.ts'
import type { ExpressionRunner } from '../../ports/execution/expression-runner.ts'

/**
 * Returns the problem of an expression, or undefined. Problems: invalid FHIRPath, values that change or need another service, excessive
 * cost even without elements.
 */
export async function findExpressionProblem(
  expressions: ExpressionRunner,
  expression: string,
  type: string,
): Promise<'too-costly' | { readonly text: string } | undefined> {
  const passing = PASSING.exec(expression)
  if (passing !== null) return { text: `${passing[0]} is nothing an index can keep` }
  const nothing = JSON.stringify({ resourceType: type })
  const evaluation = { expression, type, resource: nothing, ...(isResourceType(type) ? {} : { focus: '{}' }) }
  const [outcome] = await expressions.evaluate([evaluation], { each: LONGEST_CHECK, all: LONGEST_CHECK, overruns: 1 })
  if (outcome === undefined) return undefined
  if (outcome.ms > LONGEST_CHECK) return 'too-costly'
  if ('values' in outcome) return undefined
  return outcome.failure === 'too-costly' ? outcome.failure : { text: outcome.reason }
}

/** Maximum processor time of the check, in milliseconds: a hundred times the usual time. */
const LONGEST_CHECK = 250

/** Matches functions whose results change over time or come from a terminology server. */
const PASSING = /\b(?:now|today|timeOfDay|memberOf|subsumes|subsumedBy|validateVS|validateCS)\s*\(|%terminologies\b/
