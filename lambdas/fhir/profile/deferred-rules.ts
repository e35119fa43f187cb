/** Rules that a separate process evaluates: only fhirpath.js supports them, or they may take too long. */
import type { Issue, IssueCode } from '../outcome.ts'
import type { Element } from '../resource.ts'
import type { ProfileConstraint } from './definition.ts'
import type { ProfileIssues } from './profile-issues.ts'

/** Rule to evaluate on the focus. `expression`: location for an issue. `by`: profile for the message. */
export type DeferredRule = {
  readonly constraint: ProfileConstraint
  readonly type: string
  readonly focus: unknown
  readonly owner: Element
  readonly expression: string
  readonly by: string
  /** FHIRPath, evaluated on the focus, that selects the element for the rule. Absent: the focus itself. */
  readonly on?: string
  /**
   * Decides whether the rule holds, from the paths of the resulting elements. Absent: the rule is broken if the result is empty or false.
   */
  readonly isAmong?: (ways: readonly ElementPath[]) => boolean
}

export type ElementPath = readonly (string | number)[]

/** Result of a rule, or the reason why it could not be evaluated. */
export type Verdict = 'holds' | 'broken' | { readonly code: IssueCode; readonly why: string }

/** Results of deferred rules. `of`: returns undefined if the rule is not evaluated yet. */
export type VerdictLookup = {
  readonly of: (rule: DeferredRule) => Verdict | undefined
  /** Severity of the issue for a rule that cannot be evaluated. */
  readonly severity: Issue['severity']
}

export function reportVerdict(
  { constraint, by, expression }: DeferredRule,
  verdict: Verdict,
  severity: Issue['severity'],
  faults: ProfileIssues,
): void {
  if (verdict === 'broken') return reportBrokenRule(constraint, by, expression, faults)
  if (verdict === 'holds') return
  const { code, why } = verdict
  faults.reportAt(expression, { severity, code, text: `The rule ${constraint.key} ${why} (${by})` }, ruleOf(constraint))
}

export const reportBrokenRule = (constraint: ProfileConstraint, by: string, expression: string, faults: ProfileIssues): void => {
  const { key, severity, human } = constraint
  faults.reportAt(expression, { severity, code: 'invariant', text: `${human} (${key}, ${by})` }, ruleOf(constraint))
}

/** Returns a text that identifies a rule. It includes the expression, because profiles may have different rules with the same key. */
const ruleOf = ({ key, expression }: ProfileConstraint): string => `${key} ${expression}`
