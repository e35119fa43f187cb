/** Consistency of contained resources after some are removed. https://hl7.org/fhir/R4/references.html#contained */
import { type Element, isElement } from '../../fhir/resource.ts'
import { containedOf } from '../../fhir/summary.ts'
import { changedMembers, DESCEND } from './changed-tree.ts'

/**
 * Removes references to contained resources that `after` lacks (ref-1), and contained resources that only removed elements referred to
 * (dom-3). Returns the same object if there are none.
 */
export function withoutLostReferences(before: Element, after: Element): Element {
  const had = containedIn(before)
  if (had.length === 0) return after
  const ids = new Set(containedIn(after).map(({ id }) => id))
  const lost = new Set<unknown>(had.flatMap(({ id }) => (ids.has(id) ? [] : [`#${id}`])))
  const linked = changedMembers(after, (value) => (isElement(value) && lost.has(value.reference) ? undefined : DESCEND)) ?? after
  const left = containedIn(linked)
  const referredBefore = new Set(referredIn(before).map(({ id }) => id))
  const referred = new Set(referredIn(linked))
  const contained = left.filter((each) => referred.has(each) || !referredBefore.has(each.id))
  if (contained.length === left.length) return linked
  const { contained: _, ...rest } = linked
  return contained.length === 0 ? rest : { ...rest, contained }
}

const containedIn = ({ contained }: Element): readonly Element[] => (Array.isArray(contained) ? contained.filter(isElement) : [])

function referredIn(resource: Element): readonly Element[] {
  const { contained: _, ...root } = resource
  return containedIn(containedOf(root, containedIn(resource)))
}
