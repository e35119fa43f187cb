/** What a resource holds within itself, and what in it points there. https://hl7.org/fhir/R4/references.html#contained */
import { type Element, isElement } from '../resource.ts'
import type { ValidationIssues } from './findings.ts'

export type ContainedReferences = {
  /** The contained resources by id. */
  readonly contained: ReadonlyMap<unknown, Element>
  /** The local references met, where anything is contained: `#id`, `#`. */
  readonly local: Set<string>
  /** The contained resources that point to their owner. */
  readonly backward: Set<unknown>
}

/** Most resources contain nothing. */
const EMPTY: ContainedReferences = { contained: new Map(), local: new Set(), backward: new Set() }

export function containedReferencesOf({ contained }: Element): ContainedReferences {
  if (!Array.isArray(contained)) return EMPTY
  return { contained: new Map(contained.filter(isElement).map((one) => [one.id, one])), local: new Set(), backward: new Set() }
}

export function recordLocalReference(reference: unknown, { contained, local }: ContainedReferences): void {
  if (contained.size > 0 && typeof reference === 'string' && reference.charCodeAt(0) === 35) local.add(reference)
}

/** dom-3, when all of the owner has been walked. */
export function checkContainedAreUsed(owner: Element, inside: ContainedReferences, findings: ValidationIssues): void {
  if (!Array.isArray(owner.contained)) return
  for (const [index, contained] of (owner.contained as readonly unknown[]).entries()) {
    if (isElement(contained)) checkIsUsed(contained, index, inside, findings)
  }
}

function checkIsUsed(contained: Element, index: number, { local, backward }: ContainedReferences, findings: ValidationIssues): void {
  if (contained.id === undefined || local.has(`#${String(contained.id)}`) || backward.has(contained)) return
  findings.enter('contained')
  findings.enter(index)
  findings.report('invariant', 'A contained resource must be referred to from the resource, or refer to it (dom-3)')
  findings.leave()
  findings.leave()
}
