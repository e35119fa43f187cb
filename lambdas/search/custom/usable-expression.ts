/** Checks whether searches can use an expression that the compiler does not support. */
import { isResourceType } from '../../fhir/resource-types.ts'
import type { ExpressionRunner } from '../../ports/execution/expression-runner.ts'

/**
 * Evaluates the expression on an empty resource. Returns why it cannot be used, or undefined. Reasons: it is invalid, its result changes
 * over time or needs a terminology server, or it is too costly.
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

/** Maximum processor time of this evaluation, in milliseconds: a hundred times the usual time. A slower expression is `too-costly`. */
const LONGEST_CHECK = 250

/** Matches functions and variables whose results change over time or come from a terminology server, so that an index cannot store them. */
const PASSING = /\b(?:now|today|timeOfDay|memberOf|subsumes|subsumedBy|validateVS|validateCS)\s*\(|%terminologies\b/
