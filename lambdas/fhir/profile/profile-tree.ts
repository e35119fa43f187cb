/** A profile as a tree of elements and their slices, which a check walks through. https://hl7.org/fhir/R4/profiling.html */

import { r4TypeNameOf } from './canonical.ts'
import type { Binding, Profile, ProfileConstraint, ProfileElement, ProfileStatement, ProfileType, Slicing } from './definition.ts'
import { elementOf } from './type-elements.ts'

export type ProfileNode = {
  /** Element id with slice names, such as `Observation.component:systolic.value[x]`. */
  readonly id: string
  /** Element name without `[x]`. */
  readonly name: string
  readonly slice: string | undefined
  readonly isChoice: boolean
  min: number
  max: number
  types: readonly ProfileType[] | undefined
  /** Fixed value in a tuple, which distinguishes any value from none. `pattern` has the same form. */
  fixed: readonly [unknown] | undefined
  pattern: readonly [unknown] | undefined
  minValue: unknown
  maxValue: unknown
  maxLength: number | undefined
  regex: ProfileStatement<string> | undefined
  binding: Binding | undefined
  slicing: Slicing | undefined
  content: string | undefined
  readonly constraints: Map<string, ProfileStatement<ProfileConstraint>>
  readonly slices: Map<string, ProfileNode>
  readonly children: Map<string, ProfileNode>
  /** Children that have rules for themselves or for their content. A check visits only these. */
  rules: readonly ProfileNode[]
}

/** Tree of a profile. `nodes`: all nodes by element id. `isSilent`: whether the profile has no rules. */
export type ProfileTree = {
  readonly profile: Profile
  readonly root: ProfileNode
  readonly nodes: ReadonlyMap<string, ProfileNode>
  readonly isSilent: boolean
}

const nodeOf = (id: string, slice?: string): ProfileNode => {
  const last = id.slice(id.lastIndexOf('.') + 1).split(':')[0]!
  const isChoice = last.endsWith('[x]')
  return {
    id,
    name: isChoice ? last.slice(0, -3) : last,
    slice,
    isChoice,
    min: 0,
    max: Number.POSITIVE_INFINITY,
    types: undefined,
    fixed: undefined,
    pattern: undefined,
    minValue: undefined,
    maxValue: undefined,
    maxLength: undefined,
    regex: undefined,
    binding: undefined,
    slicing: undefined,
    content: undefined,
    constraints: new Map(),
    slices: new Map(),
    children: new Map(),
    rules: [],
  }
}

/** Returns the tree of a profile. `base`: tree that a differential extends. undefined if the base is R4's own type. */
export function treeOf(profile: Profile, base?: ProfileTree): ProfileTree {
  const nodes = new Map<string, ProfileNode>()
  const root = profile.isWhole || base === undefined ? placed(profile.type, nodes) : copied(base, nodes)
  for (const element of profile.elements) addRules(element, profile.isBuiltIn === true, placed(spelledOut(element.id, profile.type), nodes))
  return { profile, root, nodes, isSilent: !says(root) }
}

/** Whether there are rules for the node or for its content. Also sets `rules` of the node and of all its descendants. */
function says(node: ProfileNode): boolean {
  const { min, max, types, fixed, pattern, minValue, maxValue, maxLength, regex, binding, content, constraints, slices } = node
  node.rules = [...node.children.values()].filter(says)
  for (const slice of slices.values()) says(slice)
  const rules = [types, fixed, pattern, minValue, maxValue, maxLength, regex, binding, content]
  const isBounded = min > 0 || max < Number.POSITIVE_INFINITY
  return isBounded || rules.some((each) => each !== undefined) || node.rules.length + constraints.size + slices.size > 0
}

/**
 * Returns the full id. An id may begin with another name than the type, and may name a form of a choice: `Observation.valueQuantity`
 * becomes `Observation.value[x]:valueQuantity`.
 */
function spelledOut(id: string, type: string): string {
  const [, ...steps] = stepsOf(id)
  let [path, spelled] = [type, type]
  for (const step of steps) {
    const [name, ...slices] = step.split(':') as [string, ...string[]]
    const element = elementOf(path, name)
    const isForm = element?.choice !== undefined
    spelled += `.${isForm ? `${element.choice}[x]:${name}` : [name, ...slices].join(':')}`
    path = element?.type ?? elementOf(path, slices[0] ?? '')?.type ?? path
  }
  return spelled
}

const stepsOf = (id: string): readonly string[] => id.split('.')

/** Returns the node with an id. Creates the node and its ancestors if they are missing. */
function placed(id: string, nodes: Map<string, ProfileNode>): ProfileNode {
  const existing = nodes.get(id)
  if (existing !== undefined) return existing
  const steps = stepsOf(id)
  const last = steps.at(-1)!
  const colon = last.indexOf(':')
  const node = nodeOf(id, colon < 0 ? undefined : last.slice(colon + 1))
  nodes.set(id, node)
  if (colon >= 0) {
    const list = [...steps.slice(0, -1), last.slice(0, colon)].join('.')
    const { host, name } = hostOf(list, last.slice(colon + 1), nodes)
    host.slices.set(name, node)
  } else if (steps.length > 1) {
    const parent = placed(steps.slice(0, -1).join('.'), nodes)
    parent.children.set(last, node)
  }
  return node
}

/** Returns the node that holds a slice, and the name of the slice there. If there is a slice `a`, it holds the slice `a/b` (reslicing). */
function hostOf(list: string, slice: string, nodes: Map<string, ProfileNode>): { readonly host: ProfileNode; readonly name: string } {
  const slash = slice.lastIndexOf('/')
  const above = slash < 0 ? undefined : nodes.get(`${list}:${slice.slice(0, slash)}`)
  return above === undefined ? { host: placed(list, nodes), name: slice } : { host: above, name: slice.slice(slash + 1) }
}

function copied(base: ProfileTree, nodes: Map<string, ProfileNode>): ProfileNode {
  for (const [id, node] of base.nodes) {
    const { slices: _, children: __, constraints, content, ...own } = node
    Object.assign(placed(id, nodes), own, { content: inheritedContent(content, base.profile) })
    for (const [key, constraint] of constraints) nodes.get(id)!.constraints.set(key, constraint)
  }
  return nodes.get(base.root.id)!
}

/**
 * Returns the content reference for a derived profile. `#id` gets the URL of the base, whose element it means, without the rules of the
 * derived profile. Returns undefined if the base is R4's own type, which the validator checks without profiles.
 */
function inheritedContent(content: string | undefined, { url, version }: Profile): string | undefined {
  if (content === undefined || !content.startsWith('#')) return content
  if (r4TypeNameOf(url) !== undefined) return undefined
  return version === undefined ? `${url}${content}` : `${url}|${version}${content}`
}

export type NodeContent = { readonly node: ProfileNode; readonly tree: ProfileTree }

/**
 * Returns the node that the content reference of a node names. Returns undefined if there is no reference, or its target is not loaded or
 * does not exist.
 */
export function contentOf(
  { content = '' }: ProfileNode,
  own: ProfileTree,
  treeAt: (canonical: string) => ProfileTree | undefined,
): NodeContent | undefined {
  const at = content.indexOf('#')
  if (at < 0) return undefined
  const url = content.slice(0, at)
  const tree = url === '' || url === own.profile.url ? own : treeAt(url)
  const node = tree?.nodes.get(content.slice(at + 1))
  return tree === undefined || node === undefined ? undefined : { node, tree }
}

function addRules(element: ProfileElement, isBuiltIn: boolean, node: ProfileNode): void {
  const { min, max, types, minValue, maxValue, maxLength, regex, binding, slicing, constraints, content } = element
  if (min !== undefined) node.min = min
  if (max !== undefined) node.max = max === '*' ? Number.POSITIVE_INFINITY : max
  if (types !== undefined) node.types = types
  if ('fixed' in element) node.fixed = [element.fixed]
  if ('pattern' in element) node.pattern = [element.pattern]
  if (minValue !== undefined) node.minValue = minValue
  if (maxValue !== undefined) node.maxValue = maxValue
  if (maxLength !== undefined) node.maxLength = maxLength
  if (regex !== undefined) node.regex = { rule: regex, isBuiltIn }
  if (binding !== undefined) node.binding = { ...node.binding, ...binding }
  if (slicing !== undefined) node.slicing = narrowed(node.slicing, slicing)
  if (content !== undefined) node.content = content
  for (const constraint of constraints ?? [])
    if (!node.constraints.has(constraint.key)) node.constraints.set(constraint.key, { rule: constraint, isBuiltIn })
}

/** Returns the slicing of a derived profile. A repeated slicing without discriminators retains the previous ones. */
const narrowed = (before: Slicing | undefined, slicing: Slicing): Slicing =>
  before !== undefined && slicing.discriminators.length === 0 ? { ...slicing, discriminators: before.discriminators } : slicing
