/**
 * Evaluates FHIRPath expressions of clients where each can be stopped at any moment. An evaluation uses only its own time and memory, never
 * those of its caller. Results come in the order of the evaluations, one for each, whatever the others did. An expression that is invalid,
 * or fails on the resource, has the failure `failed`. One that exceeds its time or memory is `too-costly`. Throws the fault `overloaded` if
 * too many evaluations are waiting already.
 */
export type ExpressionRunner = {
  readonly evaluate: (evaluations: readonly Evaluation[], budget: ExpressionBudget) => Promise<readonly EvaluationResult[]>
}

/** `resource`: JSON, the value of %resource. `focus`: JSON of the element to start from, of the given type. Absent: the resource. */
export type Evaluation = {
  readonly expression: string
  /** FHIR type, or path of a backbone element. */
  readonly type: string
  readonly resource: string
  readonly focus?: string
  /**
   * Whether the evaluation is for the client that sent the resource. Then primitives of the resource come with their location too, and
   * `resolve()` finds nothing outside of the resource.
   */
  readonly isShown?: boolean
  /**
   * Answers for `conformsTo()`, because the runner has no profiles. Without this list `conformsTo()` is not evaluated. A missing answer
   * leads to the failure `unanswered`.
   */
  readonly conformance?: readonly ConformanceAnswer[]
}

/** Question whether a resource within the evaluated one conforms to a profile. `at`: its location, as in FoundElement. */
export type ConformanceQuestion = { readonly at: FoundElement['at']; readonly canonical: string }
export type ConformanceAnswer = ConformanceQuestion & { readonly conforms: boolean }

/**
 * Milliseconds of processor time: `each` for one evaluation, `all` for all of them. `overruns`: how many may be too costly. Evaluations
 * beyond the budget are not begun, and count as too costly. `whose`: tenant that waits. `caller`: client and user of the tenant. Tenants
 * take turns, and so do the callers of a tenant.
 */
export type ExpressionBudget = {
  readonly each: number
  readonly all: number
  readonly overruns: number
  readonly whose?: string
  readonly caller?: string
}

/**
 * `ms`: time that the evaluation took; 0 if it was not begun. `lost`: milliseconds that were spent before it on evaluations that had to be
 * repeated, whichever of them was the cause.
 */
export type EvaluationResult = { readonly ms: number; readonly lost?: number } & (
  | { readonly values: readonly FoundValue[] }
  /** `name`: kind of the error. `reason`: its message, which may contain content of the resource. */
  | { readonly failure: 'too-costly' | 'failed'; readonly name: string; readonly reason: string }
  /** The values depend on the answers to these questions: evaluate again with the answers. */
  | { readonly failure: 'unanswered'; readonly name: string; readonly reason: string; readonly questions: readonly ConformanceQuestion[] }
)

/** A value with its FHIR type. A computed value is JSON. An element is given by its location in the focus or the resource. */
export type FoundValue = { readonly type: string; readonly system?: string } & ({ readonly value: unknown } | FoundElement)
export type FoundElement = { readonly from: 'focus' | 'resource'; readonly at: readonly (string | number)[] }
