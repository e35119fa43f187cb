/** Constraints of profiles: FHIRPath that our compiler knows is evaluated here, other FHIRPath elsewhere. http://hl7.org/fhirpath/N1/ */
import { R4 } from '../definitions/r4.ts'
import { type Compiler, compiler } from '../path/compile.ts'
import { prepareTest } from '../path/steps.ts'
import { Unsupported } from '../path/tokens.ts'
import type { Rule } from '../validate/shape.ts'
import { type Check, sayer } from './checking.ts'
import type { ProfileConstraint } from './definition.ts'
import type { Faults } from './faults.ts'
import type { Item } from './items.ts'

let fhirpath: Compiler | undefined
const COMPILED = new WeakMap<ProfileConstraint, Map<string, Rule['holds'] | undefined>>()

export function checkConstraints(constraints: readonly ProfileConstraint[], { value }: Item, type: string, check: Check): void {
  if (value === undefined) return
  for (const constraint of constraints) checkConstraint(constraint, value, type, check)
}

function checkConstraint(constraint: ProfileConstraint, focus: unknown, type: string, check: Check): void {
  const holds = compiledFor(constraint, type)
  const { owner, root, work, faults } = check
  const by = sayer(check)
  if (holds === undefined) check.pending.push({ constraint, type, focus, owner, by, expression: faults.expression })
  else if (holds(focus, { resource: owner, root, work }) === false) tell(constraint, by, faults.expression, faults)
}

export const tell = ({ key, severity, human }: ProfileConstraint, by: string, expression: string, faults: Faults): void =>
  faults.reportAt(expression, { severity, code: 'invariant', text: `${human} (${key}, ${by})` }, key)

function compiledFor(constraint: ProfileConstraint, type: string): Rule['holds'] | undefined {
  let known = COMPILED.get(constraint)
  if (known === undefined) {
    known = new Map()
    COMPILED.set(constraint, known)
  }
  if (!known.has(type)) known.set(type, compiled(constraint.expression, type))
  return known.get(type)
}

function compiled(expression: string, type: string): Rule['holds'] | undefined {
  fhirpath ??= compiler(R4)
  try {
    return prepareTest(fhirpath.test(expression, type))
  } catch (error) {
    if (error instanceof Unsupported) return undefined
    throw error
  }
}
