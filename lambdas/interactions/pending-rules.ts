/** Rules of profiles that only fhirpath.js knows, or that may take any time, are evaluated where they can be ended. */
import { writeJson } from '../fhir/json.ts'
import type { Issue } from '../fhir/outcome.ts'
import type { Pending } from '../fhir/profile/checking.ts'
import { tell } from '../fhir/profile/constraint.ts'
import type { Faults } from '../fhir/profile/faults.ts'
import { clipped } from '../fhir/profile/shown.ts'
import type { Element } from '../fhir/resource.ts'
import { Enough } from '../fhir/validate/findings.ts'
import type { Budget, Evaluated, Evaluation, ExpressionRunner } from '../ports/expression-runner.ts'
import { faultIn } from './expression-fault.ts'

/** Rules that only fhirpath.js knows are few. */
const BUDGET: Budget = { each: 300, all: 1_000, overruns: 2 }
/** Evaluations, and characters of what they are about; what comes after is not begun. */
const MOST = 1_000
const MOST_CHARACTERS = 20_000_000
/** Characters of an expression: no person wrote a longer one. */
const LONGEST = 10_000

/** `severity`: of a rule that cannot be evaluated. */
export async function evaluatePending(
  pending: readonly Pending[],
  faults: Faults,
  expressions: ExpressionRunner,
  severity: Issue['severity'],
): Promise<void> {
  if (pending.length === 0) return
  const evaluations = evaluationsOf(pending)
  const outcomes = await expressions.evaluate(evaluations, BUDGET)
  try {
    for (const [i, rule] of pending.entries()) judge(rule, outcomes[i], faults, severity)
  } catch (error) {
    // More errors than are listed.
    if (!(error instanceof Enough)) throw error
  }
}

/** Of the first ones, as many as may be evaluated. */
function evaluationsOf(pending: readonly Pending[]): readonly Evaluation[] {
  const texts = new Map<Element, string>()
  const evaluations: Evaluation[] = []
  let left = MOST_CHARACTERS
  for (const { constraint, type, owner, focus } of pending.slice(0, MOST)) {
    const resource = texts.get(owner) ?? writeJson(owner)
    texts.set(owner, resource)
    const more = focus === owner ? {} : { focus: writeJson(focus) }
    left -= resource.length + (more.focus?.length ?? 0)
    if (left < 0) break
    const expression = constraint.expression.length > LONGEST ? TOO_LONG : constraint.expression
    evaluations.push({ expression, type, resource, ...more })
  }
  return evaluations
}

/** It is no FHIRPath. */
const TOO_LONG = '('

function judge({ constraint, by, expression }: Pending, outcome: Evaluated | undefined, faults: Faults, severity: Issue['severity']): void {
  if (outcome === undefined || 'failure' in outcome) {
    const isCostly = outcome === undefined || outcome.failure === 'too-costly'
    const why = isCostly ? 'takes too long to evaluate' : `could not be evaluated: ${reasonOf(constraint.expression, outcome.reason)}`
    const text = `The rule ${constraint.key} ${why} (${by})`
    faults.reportAt(expression, { severity, code: isCostly ? 'too-costly' : 'not-supported', text }, constraint.key)
  } else if (outcome.values.length === 1 && 'value' in outcome.values[0]! && outcome.values[0].value === false)
    tell(constraint, by, expression, faults)
}

/** Nothing of what it was evaluated on. */
function reasonOf(rule: string, reason: string): string {
  if (rule.length > LONGEST) return `it has more than ${LONGEST} characters`
  const fault = faultIn(rule, reason)
  return fault === undefined ? 'it fails on this element' : `it is no FHIRPath, ${clipped(fault)}`
}
