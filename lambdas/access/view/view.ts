/**
 * Views: what a partner receives of a resource. Anything that cannot be read as a permitted amount is removed, so that a resource of an
 * unexpected shape reveals no amount.
 */
import { type Element, isElement, isResource, type Resource } from '../../fhir/resource.ts'
import { SUBSETTED } from '../../fhir/summary.ts'
import { basisOf } from './basis-profiles.ts'
import { type Change, changedMembers, DESCEND } from './changed-tree.ts'
import { withoutLostReferences } from './contained-references.ts'
import { isMoney } from './money.ts'
import { INNER_RULE, ruleFor, rulesFor, type View, type ViewRule } from './view-rules.ts'

/** `isLoaded`: whether a profile is loaded, named with its version if the resource names one. */
export type ViewOptions = { readonly isLoaded: (canonical: string) => boolean }

/** Returns the resource under the view, or undefined if it is not shown. Returns the same object if nothing changes. */
export function viewOf(resource: Resource, view: View, options: ViewOptions): Resource | undefined {
  const after = partsOf(resource, view, options)
  return after === undefined || after === resource ? after : { ...after, meta: withSubsettedTag(after.meta) }
}

/** Returns the `meta` of a resource with the tag SUBSETTED, which it may already have. */
export function withSubsettedTag(meta: unknown): Element {
  const own = isElement(meta) ? meta : {}
  const tags = Array.isArray(own.tag) ? own.tag : []
  const isTagged = tags.some((tag) => isElement(tag) && tag.system === SUBSETTED.system && tag.code === SUBSETTED.code)
  return { ...own, tag: isTagged ? tags : [...tags, SUBSETTED] }
}

/**
 * Whether the view may change or hide a stored resource: its type, or the type of a resource inside it, has a rule or cannot be read. Does not parse
 * the body, because a Group of a match may contain thousands of Patients. Stored member names contain no escapes.
 */
export function mayChange(type: string, body: Buffer, view: View): boolean {
  if (rulesFor(type, view).length > 0) return true
  for (let at = body.indexOf(RESOURCE_TYPE); at >= 0; at = body.indexOf(RESOURCE_TYPE, at + RESOURCE_TYPE.length)) {
    const [, name] = TYPE_NAME.exec(body.toString('latin1', at, at + LONGEST)) ?? []
    // guard: unreadable-type-may-have-a-rule
    if (name === undefined || rulesFor(name, view).length > 0) return true
  }
  return false
}

const RESOURCE_TYPE = Buffer.from('resourceType"')
/** Member `resourceType` with a value without escapes. */
const TYPE_NAME = /^resourceType"\s*:\s*"([A-Za-z]+)"/
/** Maximum bytes of such a member that are read. The type of a longer one cannot be read. */
const LONGEST = 100

/** Returns the shown parts of a resource, which may be inside another one. `otherwise`: rule for a type without one. */
function partsOf(resource: Resource, view: View, options: ViewOptions, otherwise?: ViewRule): Resource | undefined {
  if (!isResource(resource)) return undefined
  const rule = ruleFor(resource.resourceType, resource.use, view) ?? otherwise
  // guard: view-hides-types
  if (rule?.isHidden) return undefined
  // guard: contained-resource-shows-no-money
  const inner = (value: Resource, name: string): Resource | undefined =>
    name === 'contained' ? partsOf(value, view, options, rule && INNER_RULE) : viewOf(value, view, options)
  const below = belowOf(rule, inner)
  const parts = changedMembers(resource, rootOf(rule, below, options), below)
  if (parts === undefined || parts === resource) return parts as Resource | undefined
  // A narrative repeats the removed parts.
  const { text: _, ...rest } = parts
  return withoutLostReferences(resource, rest) as Resource
}

/** Returns the changes of the root of a resource. */
function rootOf(rule: ViewRule | undefined, below: Change, { isLoaded }: ViewOptions): Change {
  if (rule === undefined) return below
  const removed = new Set(rule.removed)
  const meta: Change = (value, name) => (name === 'profile' && typeof value === 'string' ? basisOf(value, isLoaded) : below(value, name))
  return (value, name) => {
    if (removed.has(name)) return undefined
    return name === 'meta' && rule.hasBasis && isElement(value) ? changedMembers(value, meta, below) : below(value, name)
  }
}

/** Members that hold resources. */
const RESOURCES: ReadonlySet<string> = new Set(['contained', 'resource', 'outcome'])
/** Elements that are removed as a whole if one of their members is money. */
const HOLDERS: ReadonlySet<string> = new Set(['extension', 'modifierExtension', 'supportingInfo'])

/** Returns the changes below the root of a resource. `inner`: the view of a resource inside it. */
function belowOf(rule: ViewRule | undefined, inner: (value: Resource, name: string) => Resource | undefined): Change {
  const change: Change = (value, name) => {
    const isInner = name === 'contained' || (RESOURCES.has(name) && isElement(value) && 'resourceType' in value)
    if (isInner) return isResource(value) ? inner(value, name) : undefined
    return parts === undefined ? DESCEND : parts(value, name)
  }
  const parts = rule === undefined ? undefined : partsBelow(rule, change)
  return change
}

function partsBelow(rule: ViewRule, below: Change): Change {
  const { states, masked } = rule
  const removed = namesBelow(rule)
  return (value, name) => {
    // guard: view-removes-money
    if (removed.has(name) || isMoney(value, name)) return undefined
    if (states !== undefined && name === 'adjudication') return isState(value, states) ? DESCEND : undefined
    if (masked !== undefined && (name === 'adjudication' || name === 'total')) return withAmount(value, masked, below)
    return HOLDERS.has(name) && isElement(value) && hasMoney(value) ? undefined : DESCEND
  }
}

const hasMoney = (element: Element): boolean => Object.entries(element).some(([name, value]) => isMoney(value, name))

/**
 * Returns the last names of the paths of a rule, which no other element of the type has. They count at any place, so that an element at an
 * unexpected place is removed too. Paths of one name count at the root only.
 */
const namesBelow = ({ removed }: ViewRule): ReadonlySet<string> =>
  new Set(
    removed.length === 0
      ? []
      : [...removed.filter((path) => path.includes('.')).map((path) => path.slice(path.lastIndexOf('.') + 1)), 'amount'],
  )

const isState = (adjudication: unknown, states: ReadonlySet<string>): boolean =>
  isElement(adjudication) && codingsOf(adjudication.category).some(({ system, code }) => states.has(`${system}|${code}`))

/** Keeps the amount of an adjudication or total, or masks it for a category of `masked` and for one without codes. */
function withAmount(item: unknown, masked: ReadonlySet<string>, below: Change): Element | undefined {
  if (!isElement(item)) return undefined
  const codings = codingsOf(item.category)
  // guard: view-masks-shares
  const isShown = codings.length > 0 && codings.every(({ code }) => typeof code === 'string' && !masked.has(code.toLowerCase()))
  const shown: Change = (value, name) =>
    name === 'amount' ? (isElement(value) ? changedMembers(value, below) : undefined) : below(value, name)
  const hidden: Change = (value, name) => (name === 'amount' ? MASKED : name === 'value' ? undefined : below(value, name))
  return changedMembers(item, isShown ? shown : hidden, below)
}

/** Amount in place of a masked one, because `total.amount` is mandatory. https://hl7.org/fhir/R4/extension-data-absent-reason.html */
const MASKED: Element = {
  extension: [{ url: 'http://hl7.org/fhir/StructureDefinition/data-absent-reason', valueCode: 'masked' }],
}

/** Returns the codings of a CodeableConcept, or none if one of them is unreadable. */
function codingsOf(concept: unknown): readonly Element[] {
  const codings = isElement(concept) ? concept.coding : undefined
  return Array.isArray(codings) && codings.every(isElement) ? codings : []
}
