/**
 * Validation of a Reference: the element allows the target's type, and a `#id` names a contained resource.
 * https://hl7.org/fhir/R4/references.html
 */
import { withArticle } from '../article.ts'
import { typeOfUrl } from '../path/reference-type.ts'
import type { Element } from '../resource.ts'
import { isResourceType } from '../resource-types.ts'
import type { ValidationIssues } from './findings.ts'

/**
 * Reports the problems of a Reference. `targets`: types that the element allows; undefined: any type. `contained`: contained resources by
 * id.
 */
export function checkReference(
  value: Element,
  targets: ReadonlySet<string> | undefined,
  contained: Contained,
  findings: ValidationIssues,
): void {
  const { reference, type } = value
  const target = typeof reference === 'string' ? targetOf(reference, contained, findings) : undefined
  if (typeof type === 'string') {
    if (target !== undefined && type !== target) {
      findings.report('value', `The reference is not to ${withArticle(labelOf(type))}, as its type says`)
      return
    }
    if (!isResourceType(type) && !type.includes('/')) {
      findings.report('value', 'The type of the reference is no resource type')
      return
    }
  }
  const knownType = target ?? type
  if (targets !== undefined && typeof knownType === 'string' && !targets.has(knownType) && isResourceType(knownType))
    findings.report('value', `A reference to ${knownType} is not allowed here, only to ${[...targets].join(', ')}`)
}

const labelOf = (type: string): string => (isResourceType(type) ? type : 'resource')

type Contained = ReadonlyMap<unknown, Element>

function targetOf(reference: string, contained: Contained, findings: ValidationIssues): string | undefined {
  if (reference.startsWith('#')) return reference.length === 1 ? undefined : containedType(reference.slice(1), contained, findings)
  const type = typeOfUrl(reference)
  if (type === undefined || isResourceType(type)) return type
  if (!reference.includes(':')) findings.report('value', 'The reference is to a resource type that does not exist')
  return undefined
}

function containedType(id: string, contained: Contained, findings: ValidationIssues): string | undefined {
  const found = contained.get(id)
  if (found === undefined) findings.report('invariant', 'A reference to a contained resource must be to one that is there (ref-1)')
  const type = found?.resourceType
  return typeof type === 'string' && isResourceType(type) ? type : undefined
}
