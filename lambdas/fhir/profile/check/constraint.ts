/**
 * Constraints of profiles, in FHIRPath. Expressions that the server's own compiler supports are evaluated here; others are deferred.
 * Expressions that may take long are deferred too, unless the profile is built in. http://hl7.org/fhirpath/N1/
 */
import { R4 } from '../../definitions/r4.ts'
import { type Compiler, createCompiler } from '../../path/compile.ts'
import { mayTakeLong } from '../../path/costly-functions.ts'
import { prepareTest } from '../../path/steps.ts'
import { UnsupportedExpression } from '../../path/tokens.ts'
import { spendWork, TooCostly, type WorkBudget } from '../../path/work-budget.ts'
import type { Rule } from '../../validate/type-shapes.ts'
import { type CheckContext, profileLabelOf } from '../check-context.ts'
import { type DeferredRule, reportBrokenRule, reportVerdict } from '../deferred-rules.ts'
import type { ProfileConstraint, ProfileStatement } from '../definition.ts'
import type { Item } from '../items.ts'

let fhirpath: Compiler | undefined
const COMPILED = new WeakMap<ProfileConstraint, Map<string, Compiled | undefined>>()

/** `dearness`: estimated work units of one evaluation, by compiled size. Visiting an element costs 1. */
type Compiled = { readonly holds: Rule['holds']; readonly dearness: number }

export function checkConstraint(
  constraint: ProfileStatement<ProfileConstraint>,
  { value: focus }: Item,
  type: string,
  check: CheckContext,
): void {
  if (focus === undefined || (constraint.rule.key === NARRATIVE && focus !== check.owner)) return
  const compiled = compiledFor(constraint, type, check.work)
  if (compiled === undefined) deferRule(constraint.rule, focus, type, check)
  else if (holds(compiled, focus, check) !== true)
    reportBrokenRule(constraint.rule, profileLabelOf(check), check.faults.expression, check.faults)
}

/**
 * Key of the rule that a resource should have a narrative. It is not checked on contained resources, which have none.
 * https://hl7.org/fhir/R4/domainresource-definitions.html#DomainResource.text
 */
const NARRATIVE = 'dom-6'

function holds({ holds, dearness }: Compiled, focus: unknown, { owner, root, work }: CheckContext): boolean | undefined {
  // Charge each counted item for the whole expression, because its longest step may run for each of them.
  const times = Math.max(dearness, 1)
  const limit = work.left / times
  const own = { left: limit }
  const answer = holds(focus, { resource: owner, root, work: own })
  spendWork(work, dearness + times * (limit - own.left))
  return answer
}

/** Work units for deferring a rule. Visiting an element costs 1. */
const DEFERRED_COST = 50

type How = Pick<DeferredRule, 'isAmong' | 'on'>

/** Adds the rule to those that the separate process evaluates. Reports its verdict instead if the rule is already evaluated. */
export function deferRule(constraint: ProfileConstraint, focus: unknown, type: string, check: CheckContext, how: How = {}): void {
  const { owner, work, faults, pending, verdicts } = check
  spendWork(work, DEFERRED_COST)
  const rule = { constraint, type, focus, owner, by: profileLabelOf(check), expression: faults.expression, ...how }
  const verdict = verdicts.of(rule)
  if (verdict === undefined) pending.push(rule)
  else reportVerdict(rule, verdict, verdicts.severity, faults)
}

function compiledFor(constraint: ProfileStatement<ProfileConstraint>, type: string, work: WorkBudget): Compiled | undefined {
  let byType = COMPILED.get(constraint.rule)
  if (byType === undefined) {
    byType = new Map()
    COMPILED.set(constraint.rule, byType)
  }
  if (!byType.has(type)) {
    if (!constraint.isBuiltIn) spendWork(work, COMPILING + constraint.rule.expression.length)
    byType.set(type, compiled(constraint, type))
  }
  return byType.get(type)
}

/**
 * `COMPILING`: work units to compile an expression, besides one unit per character. `LARGEST`: maximum compiled size; rules with a larger
 * expression are deferred.
 */
const COMPILING = 100
const LARGEST = 3_000
/** Compiled size of an expression whose evaluation costs as much as visiting an element. */
const CHEAP = 200
/** `dearness` of the rules of built-in profiles, which are small. */
const BUILT_IN = 1 / 4

function compiled({ rule: { expression }, isBuiltIn }: ProfileStatement<ProfileConstraint>, type: string): Compiled | undefined {
  fhirpath ??= createCompiler(R4)
  try {
    if (isBuiltIn) return { holds: prepareTest(fhirpath.test(expression, type)), dearness: BUILT_IN }
    const size = { left: LARGEST }
    const test = fhirpath.test(expression, type, size)
    return mayTakeLong(Object(test)) ? undefined : { holds: prepareTest(test), dearness: (LARGEST - size.left) / CHEAP }
  } catch (error) {
    if (error instanceof UnsupportedExpression || error instanceof TooCostly) return undefined
    throw error
  }
}
