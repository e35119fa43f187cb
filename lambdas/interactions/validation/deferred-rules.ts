/** Evaluates the profile rules that only fhirpath.js supports or that may run long, in a separate process that can be terminated. */
import { writeJson } from '../../fhir/json.ts'
import type { Issue } from '../../fhir/outcome.ts'
import { clipText } from '../../fhir/profile/clipped-text.ts'
import { type DeferredRule, reportVerdict, type Verdict, type VerdictLookup } from '../../fhir/profile/deferred-rules.ts'
import type { ProfileIssues } from '../../fhir/profile/profile-issues.ts'
import type { Element } from '../../fhir/resource.ts'
import { IssueLimitReached } from '../../fhir/validate/findings.ts'
import type { Evaluation, EvaluationResult, ExpressionRunner } from '../../ports/execution/expression-runner.ts'
import { limitConcurrency } from '../time-slices.ts'
import { expressionErrorOf } from './fhirpath-fault.ts'

/** Maximum milliseconds of processor time for one rule. A rule that takes longer is reported as not evaluated. */
const EACH = 300
/** Maximum milliseconds of processor time for the rules of a resource. Further rules are reported as not evaluated. */
const ALL = 1_000
/** Rules of a resource that may exceed their time. After them, further rules are reported as not evaluated. */
const OVERRUNS = 2
/** Maximum milliseconds of processor time for the rules of all resources of a request. */
const ALL_OF_REQUEST = 5_000
/** Rules of a request that may exceed their time. */
const OVERRUNS_OF_REQUEST = 4
/** Maximum request budgets in memory, more than there are concurrent requests. Above it, the oldest is discarded. */
const MOST_REQUESTS = 5_000
/** Maximum evaluations for a resource. Further rules are reported as not evaluated. */
const MOST = 1_000
/** Maximum characters of JSON that the evaluations for a resource receive. Further rules are reported as not evaluated. */
const MOST_CHARACTERS = 20_000_000
/** Maximum characters of an expression, more than authors write. A rule with a longer one is reported as not evaluated. */
const LONGEST = 10_000

/**
 * Remaining budget of a request. `alone`: runs the evaluations for its resources one after the other. `whose`: tenant of the request; the
 * runner serves tenants in turn.
 */
type RequestBudget = { ms: number; overruns: number; readonly whose: string; readonly alone: ReturnType<typeof limitConcurrency> }

/** Budgets of the latest requests, by tenant and request id. Resources of one request share a budget. */
export class RequestBudgets {
  readonly #known = new Map<string, RequestBudget>()

  of(tenant: string, requestId: string | undefined): RequestBudget {
    const name = JSON.stringify([tenant, requestId])
    const found = requestId === undefined ? undefined : this.#known.get(name)
    if (found !== undefined) return found
    const budget = { ms: ALL_OF_REQUEST, overruns: OVERRUNS_OF_REQUEST, whose: tenant, alone: limitConcurrency(1) }
    if (requestId !== undefined) this.#known.set(name, budget)
    if (this.#known.size > MOST_REQUESTS) this.#known.delete(this.#known.keys().next().value!)
    return budget
  }
}

/** Evaluates the deferred rules of one resource. A rule with the same element is evaluated once. */
export class DeferredRules implements VerdictLookup {
  readonly severity: Issue['severity']
  readonly #expressions: ExpressionRunner
  /** Outcomes by rule (its type and expressions), then by the element that the rule checks, then by the resource that contains it. */
  readonly #known = new Map<string, Map<unknown, Map<Element, Outcome>>>()
  readonly #texts = new Map<Element, string>()
  readonly #request: RequestBudget
  readonly #left = { ms: ALL, overruns: OVERRUNS, evaluations: MOST, characters: MOST_CHARACTERS }

  /** `severity`: that of the issue for a rule that cannot be evaluated. `request`: budget of the request. */
  constructor(expressions: ExpressionRunner, severity: Issue['severity'], request: RequestBudget) {
    this.#expressions = expressions
    this.severity = severity
    this.#request = request
  }

  of = (rule: DeferredRule): Verdict | undefined => {
    const outcome = this.#known.get(nameOf(rule))?.get(rule.focus)?.get(rule.owner)
    return outcome === undefined ? undefined : verdictOf(rule, outcome)
  }

  async ask(rules: readonly DeferredRule[]): Promise<void> {
    const asked: DeferredRule[] = []
    for (const rule of rules) {
      if (this.of(rule) !== undefined) continue
      // The list may contain a rule twice for the same element. This placeholder makes the loop skip the second.
      this.#keep(rule, NOT_BEGUN)
      asked.push(rule)
    }
    const evaluations = this.#evaluationsOf(asked)
    const outcomes = evaluations.length === 0 ? [] : await this.#request.alone(() => this.#outcomesOf(evaluations))
    for (const [i, rule] of asked.entries()) this.#keep(rule, outcomes[i] ?? NOT_BEGUN)
  }

  async #outcomesOf(evaluations: readonly Evaluation[]): Promise<readonly EvaluationResult[]> {
    const budgets = [this.#left, this.#request]
    const all = Math.min(...budgets.map(({ ms }) => ms))
    const overruns = Math.min(...budgets.map(({ overruns }) => overruns))
    if (all <= 0 || overruns <= 0) return []
    const outcomes = await this.#expressions.evaluate(evaluations, { each: EACH, all, overruns, whose: this.#request.whose })
    for (const outcome of outcomes)
      for (const budget of budgets) {
        budget.ms -= outcome.ms
        if (isTooCostly(outcome) && outcome.ms > 0) budget.overruns--
      }
    return outcomes
  }

  /** Reports the verdicts of the rules. Call `ask` with them first. */
  judge(rules: readonly DeferredRule[], faults: ProfileIssues): void {
    try {
      for (const rule of rules) reportVerdict(rule, this.of(rule) ?? UNASKED, this.severity, faults)
    } catch (error) {
      // `faults` has its maximum of issues, so report no more.
      if (!(error instanceof IssueLimitReached)) throw error
    }
  }

  #keep(rule: DeferredRule, outcome: Outcome): void {
    const name = nameOf(rule)
    const byFocus = this.#known.get(name) ?? new Map<unknown, Map<Element, Outcome>>()
    const byOwner = byFocus.get(rule.focus) ?? new Map<Element, Outcome>()
    this.#known.set(name, byFocus.set(rule.focus, byOwner.set(rule.owner, outcome)))
  }

  /** Returns the evaluations of the first rules, as many as the limits allow. */
  #evaluationsOf(rules: readonly DeferredRule[]): readonly Evaluation[] {
    const evaluations: Evaluation[] = []
    for (const { constraint, type, owner, focus, isAmong, on } of rules.slice(0, this.#left.evaluations)) {
      const resource = this.#texts.get(owner) ?? writeJson(owner)
      this.#texts.set(owner, resource)
      const more = focus === owner ? {} : { focus: writeJson(focus) }
      this.#left.characters -= resource.length + (more.focus?.length ?? 0)
      if (this.#left.characters < 0) break
      const said = constraint.expression.length > LONGEST ? TOO_LONG : constraint.expression
      const expression = on === undefined ? said : `${on}.select(\n${said}\n)`
      evaluations.push({ expression, type, resource, ...more, ...(isAmong === undefined ? {} : { isShown: true }) })
    }
    this.#left.evaluations -= evaluations.length
    return evaluations
  }
}

const nameOf = ({ type, constraint, isAmong, on }: DeferredRule): string =>
  `${isAmong !== undefined} ${on} ${type} ${constraint.expression}`

type Outcome = EvaluationResult | typeof NOT_BEGUN
const NOT_BEGUN = 'not begun'

/** Invalid FHIRPath. It takes the place of an expression that is too long, so that the rule fails and `reasonOf` reports the length. */
const TOO_LONG = '('
const TOO_COSTLY: Verdict = { code: 'too-costly', why: 'takes too long to evaluate' }
const UNASKED: Verdict = { code: 'too-costly', why: 'was not evaluated: there are too many of these rules, or others take too long' }

const isTooCostly = (outcome: EvaluationResult): boolean => 'failure' in outcome && outcome.failure === 'too-costly'

function verdictOf({ constraint, isAmong, on }: DeferredRule, outcome: Outcome): Verdict {
  if (outcome === NOT_BEGUN || (isTooCostly(outcome) && outcome.ms === 0)) return UNASKED
  if ('failure' in outcome)
    return outcome.failure === 'too-costly'
      ? TOO_COSTLY
      : {
          code: 'not-supported',
          why: `could not be evaluated: ${reasonOf(constraint.expression, outcome.reason, on === undefined ? 0 : 1)}`,
        }
  const { values } = outcome
  if (isAmong !== undefined) return isAmong(values.flatMap((value) => ('at' in value ? [value.at] : []))) ? 'holds' : 'broken'
  return values.length === 0 || (values.length === 1 && 'value' in values[0]! && values[0].value === false) ? 'broken' : 'holds'
}

/** Returns the reason for the client, without content of the resource. */
function reasonOf(rule: string, reason: string, linesBefore: number): string {
  if (rule.length > LONGEST) return `it has more than ${LONGEST} characters`
  const fault = expressionErrorOf(rule, reason, linesBefore)
  return fault === undefined ? 'it fails on this element' : `it is no FHIRPath, ${clipText(fault)}`
}
