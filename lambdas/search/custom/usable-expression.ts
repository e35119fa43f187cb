/** Whether an expression that is not compiled can be what somebody searches by. */
import { isResourceType } from '../../fhir/resource-types.ts'
import type { ExpressionRunner } from '../../ports/execution/expression-runner.ts'

/** What is wrong: it is no FHIRPath, has a meaning that does not last or is not at hand, or costs too much on no elements at all. */
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

/** ms of processor time: a hundred times what others take. */
const LONGEST_CHECK = 250

/** What changes with the moment, or is asked of a server for terminology. */
const PASSING = /\b(?:now|today|timeOfDay|memberOf|subsumes|subsumedBy|validateVS|validateCS)\s*\(|%terminologies\b/
