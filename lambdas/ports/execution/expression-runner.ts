/**
 * Evaluates FHIRPath of clients where it can be ended at any moment, and takes nothing but its own time and memory: never those of who
 * waits for it. Outcomes come in order, one for each evaluation, whatever the others did. An expression that is wrong, or fails on the
 * resource, is a failure; one that takes longer, or more memory, than it may is too costly. Overloaded: too much is waiting already.
 */
export type ExpressionRunner = {
  readonly evaluate: (evaluations: readonly Evaluation[], budget: ExpressionBudget) => Promise<readonly EvaluationResult[]>
}

/** `resource`: JSON, what %resource stands for; `focus`: JSON of the element to start from, of the given type; absent: the resource. */
export type Evaluation = {
  readonly expression: string
  /** A FHIR type, or the path of a backbone element. */
  readonly type: string
  readonly resource: string
  readonly focus?: string
  /** For who sent the resource: primitives of it are told by the way to them too, and `resolve()` leads nowhere outside of it. */
  readonly isShown?: boolean
  /** Answers for conformsTo(), which is not evaluated without this list; the runner has no profiles. An answer that is missing is asked for. */
  readonly conformance?: readonly ConformanceAnswer[]
}

/** Whether a resource within the evaluated one conforms to a profile. `at`: the way to it, as in FoundElement. */
export type ConformanceQuestion = { readonly at: FoundElement['at']; readonly canonical: string }
export type ConformanceAnswer = ConformanceQuestion & { readonly conforms: boolean }

/**
 * ms of processor time for each evaluation, and for all of them; `overruns`: how many may be too costly. What comes after is not begun, and
 * too costly. `whose`: the tenant that waits. `caller`: the client and user of the tenant. Tenants have turns, and so do callers of a tenant.
 */
export type ExpressionBudget = {
  readonly each: number
  readonly all: number
  readonly overruns: number
  readonly whose?: string
  readonly caller?: string
}

/** `ms`: what it took; 0 where it was not begun. `lost`: ms that went before it into what is evaluated again, whoever is to blame for that. */
export type EvaluationResult = { readonly ms: number; readonly lost?: number } & (
  | { readonly values: readonly FoundValue[] }
  /** `name`: the kind of error; `reason` may tell of the content. */
  | { readonly failure: 'too-costly' | 'failed'; readonly name: string; readonly reason: string }
  /** The values depend on these: evaluate again with the answers. */
  | { readonly failure: 'unanswered'; readonly name: string; readonly reason: string; readonly questions: readonly ConformanceQuestion[] }
)

/** A value with its FHIR type: what was computed as JSON, an element by the way to it from the focus or the resource. */
export type FoundValue = { readonly type: string; readonly system?: string } & ({ readonly value: unknown } | FoundElement)
export type FoundElement = { readonly from: 'focus' | 'resource'; readonly at: readonly (string | number)[] }
