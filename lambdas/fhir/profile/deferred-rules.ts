/** Rules that are evaluated elsewhere: those that only fhirpath.js knows, or that may take any time. */
import type { Issue, IssueCode } from '../outcome.ts'
import type { Element } from '../resource.ts'
import type { ProfileConstraint } from './definition.ts'
import type { ProfileIssues } from './profile-issues.ts'

/** To be evaluated on the focus, and told where it is broken. `expression`: of the element. `by`: the profile. */
export type DeferredRule = {
  readonly constraint: ProfileConstraint
  readonly type: string
  readonly focus: unknown
  readonly owner: Element
  readonly expression: string
  readonly by: string
  /** What its expression is evaluated on, as FHIRPath of the focus; absent: the focus itself. */
  readonly on?: string
  /** It holds where this is among what is found, each by the way to it in the resource; else where it is not false. */
  readonly isAmong?: (ways: readonly ElementPath[]) => boolean
}

export type ElementPath = readonly (string | number)[]

/** What came of it; else why nothing did. */
export type Verdict = 'holds' | 'broken' | { readonly code: IssueCode; readonly why: string }

/** undefined: it was not evaluated yet. */
export type VerdictLookup = {
  readonly of: (rule: DeferredRule) => Verdict | undefined
  /** Of a rule that cannot be evaluated. */
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

/** Profiles may have different rules under the same key. */
const ruleOf = ({ key, expression }: ProfileConstraint): string => `${key} ${expression}`
