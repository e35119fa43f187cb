/** Replaces references in resources that a partner sent. Relative ones name resources of the partner, and would name own ones here. */
import { type BaseUrls, toLocalReference } from '../fhir/references.ts'
import type { Element, Resource } from '../fhir/resource.ts'
import { mapReferences, referenceOf } from './elements.ts'

/** System of identifiers that replace references to resources of a partner. */
export const SENT_REFERENCE_SYSTEM = 'urn:fhir-serverless:sent-reference'

/** Returns the references by which sent resources may name the sent Patient. `subjects`: References to their subject. */
export const referencesToPatient = (patient: Resource, ...subjects: readonly unknown[]): readonly string[] => [
  ...(patient.id === undefined ? [] : [`Patient/${patient.id}`]),
  ...subjects.flatMap((subject) => referenceOf(subject) ?? []),
]

/**
 * Returns the tree with `own` in place of references to the sent Patient. Every other reference that would name a resource of this server
 * becomes an identifier. Absolute URLs of other servers and references to contained resources remain.
 */
export const replaceSentReferences = <Tree>(tree: Tree, toPatient: readonly string[], own: Element, bases: BaseUrls): Tree =>
  mapReferences(tree, (found): Element => {
    const { reference, ...others } = found
    if (toPatient.includes(reference)) return own
    // guard: sent-references-name-nothing-here
    if (toLocalReference(reference, bases) === undefined) return found
    return { ...others, identifier: others.identifier ?? { system: SENT_REFERENCE_SYSTEM, value: reference } }
  })
