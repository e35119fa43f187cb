/** Validation of a resource against the structure of its R4 type. One walk finds all issues. https://hl7.org/fhir/R4/validation.html */
import type { Issue } from '../outcome.ts'
import { TooCostly } from '../path/work-budget.ts'
import { type Element, isElement } from '../resource.ts'
import { IssueLimitReached, ValidationIssues } from './findings.ts'
import { checkRootInPieces, type Pause } from './incremental-walk.ts'
import { checkRoot, resourceTypeOf, type Walk } from './walk.ts'

export type ValidationOptions = {
  /** Whether references must be to types that their elements allow. Default: true. */
  readonly referenceTargets?: boolean
}

/** Maximum items that the rules of a resource may collect. Real resources need far fewer. Beyond it, validation reports `too-costly`. */
const WORK = 20_000_000

/** Returns the issues of a resource. Never throws, for any tree. */
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

/** Finds the issues that `validate` finds, in pieces of some thousand members and items. Pauses between pieces and before rules. */
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
