/**
 * Constraints of profiles: FHIRPath that our compiler knows is evaluated here, other FHIRPath elsewhere, and so is what may take long where
 * somebody else wrote it. http://hl7.org/fhirpath/N1/
 */
import { R4 } from '../definitions/r4.ts'
import { type Compiler, compiler } from '../path/compile.ts'
import { mayTakeLong } from '../path/may-take-long.ts'
import { prepareTest } from '../path/steps.ts'
import { Unsupported } from '../path/tokens.ts'
import { spend, TooCostly, type Work } from '../path/work.ts'
import type { Rule } from '../validate/shape.ts'
import { type Check, sayer } from './checking.ts'
import type { ProfileConstraint, Sourced } from './definition.ts'
import type { Faults } from './faults.ts'
import type { Item } from './items.ts'

let fhirpath: Compiler | undefined
const COMPILED = new WeakMap<ProfileConstraint, Map<string, Rule['holds'] | undefined>>()

export function checkConstraints(constraints: readonly Sourced<ProfileConstraint>[], { value }: Item, type: string, check: Check): void {
  if (value === undefined) return
  for (const constraint of constraints) checkConstraint(constraint, value, type, check)
}

function checkConstraint(constraint: Sourced<ProfileConstraint>, focus: unknown, type: string, check: Check): void {
  const holds = compiledFor(constraint, type, check.work)
  const { owner, root, work, faults } = check
  if (holds === undefined) postpone(constraint.said, focus, type, check)
  else if (holds(focus, { resource: owner, root, work }) === false) tell(constraint.said, sayer(check), faults.expression, faults)
}

/** What it takes to have something evaluated elsewhere, against looking at an element. */
const ELSEWHERE = 50

/** To be evaluated elsewhere. */
export function postpone(constraint: ProfileConstraint, focus: unknown, type: string, check: Check): void {
  const { owner, work, faults, pending } = check
  spend(work, ELSEWHERE)
  pending.push({ constraint, type, focus, owner, by: sayer(check), expression: faults.expression })
}

export const tell = ({ key, severity, human }: ProfileConstraint, by: string, expression: string, faults: Faults): void =>
  faults.reportAt(expression, { severity, code: 'invariant', text: `${human} (${key}, ${by})` }, key)

function compiledFor(constraint: Sourced<ProfileConstraint>, type: string, work: Work): Rule['holds'] | undefined {
  let known = COMPILED.get(constraint.said)
  if (known === undefined) {
    known = new Map()
    COMPILED.set(constraint.said, known)
  }
  if (!known.has(type)) {
    if (!constraint.isBuiltIn) spend(work, COMPILING)
    known.set(type, compiled(constraint, type))
  }
  return known.get(type)
}

/** What it takes to compile an expression, against looking at an element; and how large it may be when it is written out. */
const COMPILING = 5_000
const LARGEST = 3_000

function compiled({ said: { expression }, isBuiltIn }: Sourced<ProfileConstraint>, type: string): Rule['holds'] | undefined {
  fhirpath ??= compiler(R4)
  try {
    if (isBuiltIn) return prepareTest(fhirpath.test(expression, type))
    const test = fhirpath.test(expression, type, { left: LARGEST })
    return mayTakeLong(Object(test)) ? undefined : prepareTest(test)
  } catch (error) {
    if (error instanceof Unsupported || error instanceof TooCostly) return undefined
    throw error
  }
}
