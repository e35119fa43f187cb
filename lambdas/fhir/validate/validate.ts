/** Validation of a resource against the structure and rules of its R4 type, in a single walk. https://hl7.org/fhir/R4/validation.html */
import type { Issue } from '../outcome.ts'
import { TooCostly } from '../path/work-budget.ts'
import { type Element, isElement } from '../resource.ts'
import { IssueLimitReached, ValidationIssues } from './findings.ts'
import { checkRootInPieces, type Pause } from './incremental-walk.ts'
import { checkRoot, resourceTypeOf, type Walk } from './walk.ts'

export type ValidationOptions = {
  /** Whether the target of a reference must have a type that the element allows. Default: true. */
  readonly referenceTargets?: boolean
}

/** Maximum work items of all rules on a resource. Beyond it, validation ends with an issue `too-costly`. Real resources need far fewer. */
const WORK = 20_000_000

/** Returns the issues of a resource, at most 100 and a notice that there are more. Accepts any tree, however malformed. */
export function validate(resource: unknown, options: ValidationOptions = {}): readonly Issue[] {
  const findings = new ValidationIssues()
  if (!isElement(resource)) findings.report('structure', 'A resource is expected')
  else {
    try {
      checkRoot(resource, walkOf(resource, findings, options))
    } catch (error) {
      reportEnd(error, findings)
    }
  }
  return findings.issues
}

/**
 * Finds the issues that `validate` finds, in pieces of some thousand members and items. Yields between pieces and before rules, so that
 * other requests can use the thread.
 */
export function* validateInPieces(resource: Element, options: ValidationOptions = {}): Generator<Pause, readonly Issue[]> {
  const findings = new ValidationIssues()
  try {
    yield* checkRootInPieces(resource, walkOf(resource, findings, options))
  } catch (error) {
    reportEnd(error, findings)
  }
  return findings.issues
}

function walkOf(resource: Element, findings: ValidationIssues, { referenceTargets = true }: ValidationOptions): Walk {
  findings.enter(resourceTypeOf(resource) ?? 'Resource')
  return { findings, referenceTargets, work: { left: WORK } }
}

function reportEnd(error: unknown, findings: ValidationIssues): void {
  if (error instanceof IssueLimitReached) return
  if (!(error instanceof TooCostly)) throw error
  try {
    findings.report('too-costly', 'The rules of FHIR are too costly to check on this resource')
  } catch (enough) {
    reportEnd(enough, findings)
  }
}
