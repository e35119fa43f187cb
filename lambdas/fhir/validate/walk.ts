/** Walk of a validation: members, items, and the rules of each element. incremental-walk.ts handles large resources. */
import type { EvaluationScope } from '../path/branch.ts'
import type { WorkBudget } from '../path/work-budget.ts'
import { type Element, isElement } from '../resource.ts'
import { isResourceType } from '../resource-types.ts'
import { findCodingProblem, isMimeType } from './codes.ts'
import { type ContainedReferences, checkContainedUse, containedReferencesOf, recordLocalReference } from './contained-references.ts'
import { quoteName, type ValidationIssues } from './findings.ts'
import { checkReference } from './reference.ts'
import { type CompiledShape, type Member, type Rule, shapeOf } from './type-shapes.ts'

const DEEPEST = 400

export type Walk = { readonly findings: ValidationIssues; readonly referenceTargets: boolean; readonly work: WorkBudget }

/**
 * Context of one resource and its contained resources. `owner`: the resource itself, also while its contained resources are validated.
 * `scope`: %resource and %rootResource for the rules.
 */
export type WalkContext = Walk & ContainedReferences & { readonly owner: Element; readonly scope: EvaluationScope }

export function checkRoot(resource: Element, walk: Walk): void {
  const within = walkContextOf(resource, walk)
  if (checkResource(resource, within)) checkContainedUse(resource, within, within.findings)
}

export function walkContextOf(resource: Element, { findings, referenceTargets, work }: Walk): WalkContext {
  const scope = { resource, root: resource, work }
  return { findings, referenceTargets, work, ...containedReferencesOf(resource), owner: resource, scope }
}

function checkResource(resource: Element, within: WalkContext): boolean {
  const shape = shapeOfResource(resource, within)
  if (shape !== undefined) checkObject(resource, shape, within, false)
  return shape !== undefined
}

/** Returns the shape of a resource. For an unknown type, reports an issue and returns undefined. */
export function shapeOfResource(resource: Element, { findings }: WalkContext): CompiledShape | undefined {
  const type = resourceTypeOf(resource)
  if (type !== undefined) return shapeOf(type)
  findings.report('structure', resource.resourceType === undefined ? 'resourceType is missing' : 'There is no such resource type')
  return undefined
}

export function resourceTypeOf({ resourceType }: Element): string | undefined {
  return typeof resourceType === 'string' && isResourceType(resourceType) ? resourceType : undefined
}

function checkContained(resource: Element, within: WalkContext): void {
  const leave = enterContained(resource, within)
  checkResource(resource, containedContextOf(resource, within))
  leave()
}

export const containedContextOf = (resource: Element, within: WalkContext): WalkContext => ({
  ...within,
  scope: { resource, root: within.owner, work: within.work },
})

/**
 * Checks the rules for contained resources, such as dom-2. Call the returned function after the walk of the resource: it records whether
 * the resource refers to its container.
 */
export function enterContained(resource: Element, { findings, local, backward }: WalkContext): () => void {
  const meta = isElement(resource.meta) ? resource.meta : {}
  if (resource.id === undefined) findings.report('structure', 'A contained resource must have an id')
  if (resource.contained !== undefined) findings.report('invariant', 'A contained resource may not contain others (dom-2)')
  if (meta.versionId !== undefined || meta.lastUpdated !== undefined)
    findings.report('invariant', 'A contained resource has no versionId or lastUpdated (dom-4)')
  if (meta.security !== undefined) findings.report('invariant', 'A contained resource has no security labels (dom-5)')
  const hadBefore = local.delete('#')
  return () => {
    if (local.has('#')) backward.add(resource)
    if (hadBefore) local.add('#')
  }
}

/**
 * Validates an object. `hasValue`: whether the object is the companion of a primitive with a value. Such a companion may have only an id.
 */
function checkObject(object: Element, shape: CompiledShape, within: WalkContext, hasValue: boolean): void {
  let seen = 0
  let members = 0
  for (const key in object) {
    if (shape.isResource && key === 'resourceType') continue
    members++
    const member = enterMember(object, key, seen, shape, within)
    if (member === undefined) continue
    seen |= member.bit
    checkMember(object, object[key], member, within)
    within.findings.leave()
  }
  checkRequiredMembers(object, shape, seen, members, hasValue, within.findings)
  for (const rule of shape.rules) checkRule(rule, object, within)
}

export function checkRule({ holds, text }: Rule, focus: unknown, { findings, scope }: WalkContext): void {
  if (holds(focus, scope) === false) findings.report('invariant', text)
}

/**
 * Sets the location to a member and returns the member. Reports a second form of a choice. For an unknown element, reports an issue and
 * returns undefined. `seen`: bits of the members before this one.
 */
export function enterMember(
  object: Element,
  key: string,
  seen: number,
  shape: CompiledShape,
  { findings }: WalkContext,
): Member | undefined {
  const member = shape.members.get(key)
  if (member === undefined) {
    findings.enter(key)
    findings.report('structure', `There is no element ${quoteName(key)} in ${shape.type}`)
    findings.leave()
    return undefined
  }
  findings.enter(member.choice ?? member.key)
  if (member.choice !== undefined && (seen & member.bit) !== 0 && isSecondChoice(object, key, shape))
    findings.report('structure', `There may be only one ${member.choice}[x]`)
  return member
}

/** Reports missing members, and violations of ext-1 and ele-1. `seen`: bits of the members that the object has. `members`: their number. */
export function checkRequiredMembers(
  object: Element,
  shape: CompiledShape,
  seen: number,
  members: number,
  hasValue: boolean,
  findings: ValidationIssues,
): void {
  if ((seen & shape.required) !== shape.required) reportMissing(shape, seen, findings)
  if (shape.valueBit !== 0 && ((seen & shape.valueBit) !== 0) === (object.extension !== undefined))
    findings.report('invariant', 'Must have either extensions or value[x], not both (ext-1)')
  // Exclude resources: they are not an Element, and may have only their type.
  if (!shape.isResource && (members === 0 || (members === 1 && object.id !== undefined && !hasValue)))
    findings.report('invariant', 'All FHIR elements must have a value or children (ele-1)')
}

/** Whether another form of the same choice comes before this member. valueString and _valueString are one form. */
function isSecondChoice(object: Element, key: string, { members }: CompiledShape): boolean {
  const { key: name, choice } = members.get(key)!
  for (const other in object) {
    if (other === key) break
    const member = members.get(other)
    if (member?.choice === choice && member?.key !== name) return true
  }
  return false
}

function reportMissing({ requiredNames }: CompiledShape, seen: number, findings: ValidationIssues): void {
  for (const { bit, name } of requiredNames) if ((seen & bit) === 0) findings.report('required', `${name} is required`)
}

export function checkMember(object: Element, value: unknown, member: Member, within: WalkContext): void {
  if (member.companionOf !== undefined) checkCompanion(value, object[member.companionOf], member, within)
  else if (!member.list) checkValue(value, member, within)
  else if (!Array.isArray(value)) within.findings.report('structure', 'An array is expected')
  else if (value.length === 0) within.findings.report('structure', 'An array may not be empty')
  else checkItems(value, object, member, within)
}

function checkItems(items: readonly unknown[], object: Element, member: Member, within: WalkContext): void {
  for (let index = 0; index < items.length; index++) checkItem(items[index], index, object, member, within)
}

export function checkItem(item: unknown, index: number, object: Element, member: Member, within: WalkContext): void {
  const { findings } = within
  findings.enter(index)
  if (item === null && member.primitive !== undefined) {
    const companions = object[`_${member.key}`]
    if (!Array.isArray(companions) || !companions[index]) findings.report('structure', 'null may stand only where there is an extension')
  } else checkValue(item, member, within)
  findings.leave()
}

/** Whether the value is an object to validate further. Reports any other value, and an object that is nested too deep. */
export function isNestedElement(value: unknown, { findings }: WalkContext): value is Element {
  if (isElement(value) && findings.depth <= DEEPEST) return true
  findings.report('structure', isElement(value) ? 'This is nested too deep' : 'An object is expected')
  return false
}

function checkValue(value: unknown, member: Member, within: WalkContext): void {
  if (member.primitive !== undefined) return checkPrimitive(value, member, member.primitive(value), within)
  if (!isNestedElement(value, within)) return
  if (member.type === 'Resource') {
    if (member.key === 'contained') checkContained(value, within)
    else checkRoot(value, within)
    return
  }
  checkObject(value, shapeOfMember(member), within, false)
  checkReferenceOrCoding(value, member, within)
  for (const rule of member.rules) checkRule(rule, value, within)
}

export function shapeOfMember(member: Member): CompiledShape {
  member.shape ??= shapeOf(member.type)
  return member.shape
}

/** Checks a Reference, or the codes of a Coding or CodeableConcept with a required binding. Other values pass. */
export function checkReferenceOrCoding(value: Element, member: Member, within: WalkContext): void {
  const { findings } = within
  if (member.type === 'Reference') {
    recordLocalReference(value.reference, within)
    checkReference(value, within.referenceTargets ? member.targets : undefined, within.contained, findings)
  } else if (member.codes !== undefined && member.codes !== 'mime') {
    const fault = findCodingProblem(member.type, value, member.codes)
    if (fault !== undefined) findings.report('code-invalid', fault)
  }
}

function checkPrimitive(value: unknown, member: Member, fault: string | undefined, within: WalkContext): void {
  const { findings } = within
  if (fault !== undefined) {
    findings.report(typeof value === 'object' ? 'structure' : 'value', fault)
    return
  }
  const { codes, type } = member
  if (codes === 'mime') {
    if (!isMimeType(value as string)) findings.report('code-invalid', 'This is not a MIME type')
  } else if (codes !== undefined && !codes.has(value as string)) findings.report('code-invalid', codes.fault)
  if (type === 'uri' || type === 'canonical' || type === 'url') recordLocalReference(value, within)
  for (const rule of member.rules) checkRule(rule, value, within)
}

const ELEMENT = 'Element'

/**
 * Validates the companion of a primitive, such as `_birthDate`, which holds its id and extensions.
 * https://hl7.org/fhir/R4/json.html#primitive
 */
function checkCompanion(companion: unknown, value: unknown, member: Member, within: WalkContext): void {
  const { findings } = within
  if (!member.list) {
    if (isElement(companion)) checkObject(companion, shapeOf(ELEMENT), within, value !== undefined)
    else findings.report('structure', 'An object is expected')
    return
  }
  if (!Array.isArray(companion)) {
    findings.report('structure', 'An array is expected')
    return
  }
  const values = Array.isArray(value) ? (value as readonly unknown[]) : undefined
  if (values !== undefined && values.length !== companion.length)
    findings.report('structure', `_${member.key} must have as many items as ${member.key}`)
  if (companion.length === 0) findings.report('structure', 'An array may not be empty')
  for (const [index, item] of (companion as readonly unknown[]).entries()) {
    const hasValue = values?.[index] !== undefined && values[index] !== null
    findings.enter(index)
    if (isElement(item)) checkObject(item, shapeOf(ELEMENT), within, hasValue)
    else if (item !== null) findings.report('structure', 'An object is expected')
    else if (values === undefined) findings.report('structure', 'null may stand only where there is a value')
    findings.leave()
  }
}
