/** Whether an item is as a profile says: what R4 says of its type is checked before. https://hl7.org/fhir/R4/profiling.html */
import { compare } from '../path/compare.ts'
import { MOST_WORK, spend } from '../path/work.ts'
import { isElement, type Resource } from '../resource.ts'
import { checkBinding } from './binding.ts'
import { atItem, type Check, checkCount, nameOf, notLoaded, type Pending, report, sayer, typeOfItem } from './checking.ts'
import { checkConstraints } from './constraint.ts'
import { checkEverywhere } from './everywhere.ts'
import { Faults } from './faults.ts'
import { type Item, itemOf, itemsOf } from './items.ts'
import { type Library, ownType } from './library.ts'
import { fits, isFixed } from './matching.ts'
import { type Node, type Tree, treeOf } from './node.ts'
import { checkSlices } from './slices.ts'
import { checkTargets } from './target.ts'
import { typeOfElement } from './types.ts'

/** `type`: the FHIR type of the item. */
export function checkAgainst(tree: Tree, item: Item, type: string, check: Check): void {
  const name = sayer({ profile: tree })
  const known = check.visiting.get(item.value) ?? new Set()
  if (known.has(name)) return
  const visiting = new Map(check.visiting).set(item.value, new Set([...known, name]))
  checkContent(tree.root, item, type, { ...check, profile: tree, visiting })
}

/** What is said of one item of an element, and of what it holds. */
export function checkContent(node: Node, item: Item, type: string, check: Check): void {
  spend(check.work, 1)
  checkValue(node, item, type, check)
  if (node.binding !== undefined) checkBinding(node.binding, item, type, check)
  checkTypes(node, item, type, check)
  checkConstraints(node.constraints, item, type, check)
  const content = node.content === undefined ? node : (check.profile.nodes.get(node.content) ?? node)
  for (const child of content.children.values()) checkElement(child, item, typeOfElement(type, child.name), check)
}

function checkValue(node: Node, { value }: Item, type: string, check: Check): void {
  if (value === undefined) return
  const name = nameOf(node)
  if (node.fixed !== undefined && !isFixed(value, node.fixed[0])) report(check, 'value', 'fixed', `${name} must be ${shown(node.fixed[0])}`)
  if (node.pattern !== undefined && !fits(value, node.pattern[0]))
    report(check, 'value', 'pattern', `${name} must have ${shown(node.pattern[0])}`)
  if (node.maxLength !== undefined && typeof value === 'string' && value.length > node.maxLength)
    report(check, 'too-long', 'maxLength', `${name} may have ${node.maxLength} characters`)
  if (node.minValue !== undefined && (compare(value, node.minValue) ?? 0) < 0)
    report(check, 'value', 'minValue', `${name} must be at least ${shown(node.minValue)}`)
  if (node.maxValue !== undefined && (compare(value, node.maxValue) ?? 0) > 0)
    report(check, 'value', 'maxValue', `${name} must be at most ${shown(node.maxValue)}`)
  if (node.types !== undefined && !isOfTypes(node, value, type))
    report(check, 'structure', 'type', `${name} must be of the type ${node.types.map(({ code }) => code).join(' or ')}`)
}

/** A type of the profile, never a value of the resource. */
const shown = (expected: unknown): string => {
  const text = typeof expected === 'string' ? expected : JSON.stringify(expected)
  return text.length > 300 ? `${text.slice(0, 300)}…` : text
}

function isOfTypes({ types = [], isChoice }: Node, value: unknown, type: string): boolean {
  if (isElement(value) && typeof value.resourceType === 'string')
    return types.some(({ code }) => code === 'Resource' || code === 'DomainResource' || code === value.resourceType)
  return !isChoice || types.some(({ code }) => code === type)
}

/** The profiles of its type: one of them has to fit; and what a reference may refer to. */
function checkTypes({ types = [] }: Node, item: Item, type: string, check: Check): void {
  const ofType = types.length === 1 ? types : types.filter(({ code }) => code === type)
  if (type === 'Reference')
    checkTargets(
      ofType.flatMap(({ targetProfiles = [] }) => targetProfiles),
      item,
      check,
    )
  // Each extension is checked against its definition, wherever it stands.
  if (type !== 'Extension')
    checkOneOf(
      ofType.flatMap(({ profiles = [] }) => profiles),
      item,
      type,
      check,
    )
}

/** At least one of the profiles has to fit; where none does, those faults are told that are fewest. */
export function checkOneOf(profiles: readonly string[], item: Item, type: string, check: Check): void {
  let best: Checked | undefined
  for (const canonical of profiles) {
    if (ownType(canonical) === type) return
    const tree = check.library.tree(canonical)
    if (tree === undefined) return notLoaded(canonical, check)
    const tried: Checked = { faults: check.faults.apart(), pending: [] }
    checkAgainst(tree, item, type, { ...check, ...tried })
    if (best === undefined || tried.faults.errors < best.faults.errors) best = tried
    if (best.faults.errors === 0) break
  }
  if (best === undefined) return
  check.faults.add(best.faults)
  check.pending.push(...best.pending)
}

/** An element within an item: how many there are, each of them, and its slices. `type`: of the element, unless it is a choice. */
function checkElement(node: Node, parent: Item, type: string, check: Check): void {
  const items = itemsOf(parent, node.name, node.isChoice)
  checkCount(node, items.length, check)
  if (items.length === 0 && node.slices.size === 0) return
  check.faults.enter(node.name)
  for (const item of items)
    atItem(item, check.faults, () => checkContent(node, item, item.type ?? typeOfItem(item, type), within(item, node, check)))
  check.faults.leave()
  if (node.slices.size > 0) checkSlices(node, items, type, check)
}

/** What is contained points to what its owner holds; the resource of an entry is its own owner. */
const within = ({ value }: Item, { name }: Node, check: Check): Check =>
  isElement(value) && typeof value.resourceType === 'string' && name !== 'contained' ? { ...check, owner: value } : check

/** `profiles`: those the resource is to be as. What is looked up and not there is told to the library. */
export function checkProfiles(resource: Resource, profiles: readonly Tree[], library: Library): Checked {
  const [faults, pending] = [new Faults([resource.resourceType]), [] as Pending[]]
  const check = (profile: Tree): Check => ({ ...shared, profile })
  const shared = {
    library,
    faults,
    owner: resource,
    root: resource,
    work: { left: MOST_WORK },
    pending,
    visiting: new Map(),
    again: { content: checkContent, oneOf: checkOneOf },
  }
  for (const profile of profiles) checkAs(profile, resource, check(profile))
  checkEverywhere(resource, check(NOBODY), checkAgainst)
  return { faults, pending }
}

function checkAs(profile: Tree, resource: Resource, check: Check): void {
  const { type } = profile.profile
  if (type === resource.resourceType) checkAgainst(profile, itemOf(resource), type, check)
  else report(check, 'structure', 'type', `The profile is about ${type}, and this is a ${resource.resourceType}`)
}

/** Where no profile speaks. */
const NOBODY = treeOf({ url: 'http://hl7.org/fhir/StructureDefinition/Resource', type: 'Resource', isWhole: true, elements: [] })

export type Checked = { readonly faults: Faults; readonly pending: Pending[] }
