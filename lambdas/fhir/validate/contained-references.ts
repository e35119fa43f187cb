/** Contained resources, and the references to them within one resource. https://hl7.org/fhir/R4/references.html#contained */
import { type Element, isElement } from '../resource.ts'
import type { ValidationIssues } from './findings.ts'

export type ContainedReferences = {
  /** Contained resources by id. */
  readonly contained: ReadonlyMap<unknown, Element>
  /**
   * References to contained resources found so far: `#id`, or `#` for the container. They are recorded only if there are contained
   * resources.
   */
  readonly local: Set<string>
  /** Contained resources that refer to the resource that contains them (`#`). */
  readonly backward: Set<unknown>
}

/** Value for all resources without contained resources, which are most. It is never changed. */
const EMPTY: ContainedReferences = { contained: new Map(), local: new Set(), backward: new Set() }

export function containedReferencesOf({ contained }: Element): ContainedReferences {
  if (!Array.isArray(contained)) return EMPTY
  return { contained: new Map(contained.filter(isElement).map((one) => [one.id, one])), local: new Set(), backward: new Set() }
}

export function recordLocalReference(reference: unknown, { contained, local }: ContainedReferences): void {
  if (contained.size > 0 && typeof reference === 'string' && reference.charCodeAt(0) === 35) local.add(reference)
}

/**
 * Reports each contained resource that nothing in its container refers to, and that does not refer to its container (dom-3). Call it after
 * the walk of the whole container, which records the references.
 */
export function checkContainedUse(owner: Element, inside: ContainedReferences, findings: ValidationIssues): void {
  if (!Array.isArray(owner.contained)) return
  for (const [index, contained] of (owner.contained as readonly unknown[]).entries()) {
    if (isElement(contained)) checkUse(contained, index, inside, findings)
  }
}

function checkUse(contained: Element, index: number, { local, backward }: ContainedReferences, findings: ValidationIssues): void {
  if (contained.id === undefined || local.has(`#${String(contained.id)}`) || backward.has(contained)) return
  findings.enter('contained')
  findings.enter(index)
  findings.report('invariant', 'A contained resource must be referred to from the resource, or refer to it (dom-3)')
  findings.leave()
  findings.leave()
}
