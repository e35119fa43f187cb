/**
 * Evaluates FHIRPath expressions of clients. Each evaluation can be stopped at any moment, and uses time and memory of its own, never those
 * of its caller.
 *
 * `evaluate` returns one result for each evaluation, in their order, whatever the others did. An expression that is invalid, or fails on
 * the resource, has the failure `failed`. One that exceeds its time or memory has the failure `too-costly`. Throws the fault `overloaded`
 * if too many calls are waiting already.
 */
export type ExpressionRunner = {
  readonly evaluate: (evaluations: readonly Evaluation[], budget: ExpressionBudget) => Promise<readonly EvaluationResult[]>
}

/**
 * Evaluation of one expression. `resource`: JSON of %resource. `focus`: JSON of the element where the expression starts; absent: the
 * resource.
 */
export type Evaluation = {
  readonly expression: string
  /** Type of the focus: a FHIR type, or the path of a backbone element. */
  readonly type: string
  readonly resource: string
  readonly focus?: string
  /**
   * Whether the client that sent the resource sees the result. Then primitive values of the resource have their location too, and
   * `resolve()` finds only contained resources.
   */
  readonly isShown?: boolean
  /**
   * Answers for `conformsTo()`, because the runner has no profiles. Without this list `conformsTo()` is not evaluated. If an answer is
   * missing, the evaluation has the failure `unanswered`.
   */
  readonly conformance?: readonly ConformanceAnswer[]
}

/** Question whether a part of the evaluated resource conforms to a profile. `at`: location of the part, as in FoundElement. */
export type ConformanceQuestion = { readonly at: FoundElement['at']; readonly canonical: string }
export type ConformanceAnswer = ConformanceQuestion & { readonly conforms: boolean }

/**
 * Limits of a call, in milliseconds of processor time: `each` for one evaluation, `all` for all together. `overruns`: number of evaluations
 * that may exceed their limit. Evaluations beyond `all` or `overruns` do not begin, and are `too-costly`.
 *
 * `whose`: tenant of the call. `caller`: client and user in the tenant. Tenants take turns, and so do the callers of a tenant.
 */
export type ExpressionBudget = {
  readonly each: number
  readonly all: number
  readonly overruns: number
  readonly whose?: string
  readonly caller?: string
}

/**
 * `ms`: processor time of the evaluation in milliseconds; 0 if it did not begin. `lost`: milliseconds spent before on evaluations that had
 * to be repeated. They count against this budget, even if another call caused them.
 */
export type EvaluationResult = { readonly ms: number; readonly lost?: number } & (
  | { readonly values: readonly FoundValue[] }
  /** `name`: name of the error. `reason`: its message, which may contain content of the resource. */
  | { readonly failure: 'too-costly' | 'failed'; readonly name: string; readonly reason: string }
  /** The values depend on answers that are missing: evaluate again with the answers to `questions`. */
  | { readonly failure: 'unanswered'; readonly name: string; readonly reason: string; readonly questions: readonly ConformanceQuestion[] }
)

/** A value with its FHIR type. A computed value is given as JSON, an element by its location in the focus or the resource. */
export type FoundValue = { readonly type: string; readonly system?: string } & ({ readonly value: unknown } | FoundElement)
export type FoundElement = { readonly from: 'focus' | 'resource'; readonly at: readonly (string | number)[] }
