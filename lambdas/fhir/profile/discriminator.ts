/** Whether an item belongs to a slice. https://hl7.org/fhir/R4/profiling.html#discriminator */
import { targetType } from '../path/refers.ts'
import { isElement } from '../resource.ts'
import { membershipOf } from './binding.ts'
import { type Check, typeOfItem } from './checking.ts'
import type { Discriminator, Slicing } from './definition.ts'
import { type Item, itemOf, itemsOf, typeNamed } from './items.ts'
import { withoutVersion } from './library.ts'
import { fits, isFixed } from './matching.ts'
import type { Node } from './node.ts'
import { resolved, typesOf } from './target.ts'
import { typeOfElement } from './types.ts'

/** Without discriminators it belongs where it fits. */
export function belongs(item: Item, slice: Node, { discriminators }: Slicing, type: string, check: Check): boolean {
  if (discriminators.length === 0) return isWithoutFault(item, slice, type, check)
  return discriminators.every((discriminator) => isToldApart(item, slice, discriminator, type, check))
}

function isWithoutFault(item: Item, slice: Node, type: string, check: Check): boolean {
  const faults = check.faults.apart()
  check.again.content(slice, item, type, { ...check, faults, pending: [] })
  return faults.errors === 0
}

/** What a path leads to: in the item, and in the slice with what fixed values and patterns above say there. */
type Place = {
  readonly items: readonly Item[]
  readonly nodes: readonly Node[]
  readonly expected: readonly unknown[]
  readonly type: string
}

function isToldApart(item: Item, slice: Node, { type: kind, path }: Discriminator, type: string, check: Check): boolean {
  const place = stepsOf(path).reduce<Place>((found, step) => onward(found, step, check), {
    items: [item],
    nodes: [slice],
    expected: expectedOf(slice),
    type,
  })
  switch (kind) {
    case 'value':
    case 'pattern':
      return isExpected(place, check)
    case 'exists':
      return exists(place)
    case 'type':
      return place.items.some((each) => isOfType(each, place, slice, check))
    case 'profile':
      return place.items.some((each) => isAsProfiled(each, place, check))
  }
}

const stepsOf = (path: string): readonly string[] => path.match(/\w+\('[^']*'\)|\w+\([^)]*\)|\$this|[^.]+/g) ?? []

const expectedOf = ({ fixed, pattern }: Node): readonly unknown[] => [...(fixed ?? []), ...(pattern ?? [])]

function onward(place: Place, step: string, check: Check): Place {
  if (step === '$this') return place
  const [, call, argument = ''] = /^(\w+)\('?([^')]*)'?\)$/.exec(step) ?? []
  if (call === 'resolve') return resolvedPlace(place, check)
  if (call === 'extension') return extensionPlace(place, argument, check)
  if (call === 'ofType' || call === 'as')
    return {
      ...place,
      items: place.items.filter((item) => item.type === argument || typeOfItem(item, place.type) === argument),
      type: argument,
    }
  const nodes = place.nodes.flatMap((node) => childrenOf(node, step, check))
  const items = place.items.flatMap((item) => {
    const plain = itemsOf(item, step, false)
    return plain.length > 0 ? plain : itemsOf(item, step, true)
  })
  const above = place.expected.flatMap((expected) => (isElement(expected) && step in expected ? [expected[step]].flat() : []))
  return { items, nodes, expected: [...above, ...nodes.flatMap(expectedOf)], type: typeOfElement(place.type, step) }
}

/** The node of an element, with those of its choices, and where the profiles of its type have it. */
function childrenOf(node: Node, name: string, check: Check): readonly Node[] {
  const content = node.content === undefined ? node : (check.profile.nodes.get(node.content) ?? node)
  const own = [content.children.get(name), content.children.get(`${name}[x]`)].filter((child) => child !== undefined)
  const profiled = (node.types ?? []).flatMap(({ profiles = [] }) => profiles.map((canonical) => check.library.tree(canonical)?.root))
  const below = profiled.flatMap((root) => (root === undefined ? [] : childrenOf(root, name, check)))
  return [...own.flatMap((child) => (child.isChoice ? [child, ...child.slices.values()] : [child])), ...below]
}

function resolvedPlace({ items, nodes, type }: Place, check: Check): Place {
  const targets = items.flatMap(({ value }) => (isElement(value) ? [itemOf(resolved(value, check) ?? stubOf(value, check))] : []))
  return { items: targets, nodes, expected: [], type }
}

/** Of what is not at hand the type may be known. */
const stubOf = (reference: unknown, { owner }: Check): unknown => ({ resourceType: targetType(reference, owner) })

function extensionPlace({ items, nodes }: Place, url: string, check: Check): Place {
  return {
    items: items.flatMap((item) => itemsOf(item, 'extension', false)).filter(({ value }) => isElement(value) && value.url === url),
    nodes: nodes
      .flatMap((node) => [...(node.children.get('extension')?.slices.values() ?? [])])
      .filter((slice) => urlsOf(slice, check).includes(url)),
    expected: [],
    type: 'Extension',
  }
}

const urlsOf = (slice: Node, check: Check): readonly unknown[] => [
  ...(slice.types ?? []).flatMap(({ profiles = [] }) => profiles.map(withoutVersion)),
  ...childrenOf(slice, 'url', check).flatMap(({ fixed = [] }) => fixed),
]

function isExpected({ items, nodes, expected }: Place, check: Check): boolean {
  if (expected.length > 0) return items.some(({ value }) => expected.every((each) => fits(value, each)))
  return nodes.some((node) => items.some((item) => isLike(item, node, check)))
}

/** Whether an item has all the values that a node and what is below it give. */
function isLike(item: Item, node: Node, check: Check): boolean {
  const { fixed, pattern, binding } = node
  if (fixed !== undefined && !isFixed(item.value, fixed[0])) return false
  if (pattern !== undefined && !fits(item.value, pattern[0])) return false
  // What is unknown may be in it.
  if (binding?.strength === 'required' && ['out', 'none'].includes(membershipOf(item.value, binding.valueSet ?? '', check.library)))
    return false
  return [...node.children.values()].every((child) => {
    const items = itemsOf(item, child.name, child.isChoice)
    return items.length === 0 ? child.min === 0 : !isTelling(child) || items.some((each) => isLike(each, child, check))
  })
}

const isTelling = (node: Node): boolean =>
  node.fixed !== undefined ||
  node.pattern !== undefined ||
  node.binding?.strength === 'required' ||
  [...node.children.values()].some(isTelling)

function exists({ items, nodes }: Place): boolean {
  if (nodes.some(({ max }) => max === 0)) return items.length === 0
  return nodes.every(({ min }) => min === 0) || items.length > 0
}

function isOfType(item: Item, { nodes, type }: Place, slice: Node, check: Check): boolean {
  const types = nodes.flatMap((node) => node.types ?? [])
  if (types.length === 0) return item.type !== undefined && item.type === typeNamed((slice.slice ?? '').slice(slice.name.length))
  const targets = types.flatMap(({ targetProfiles = [] }) => targetProfiles)
  const found = typeOfItem(item, item.type ?? type)
  if (types.some(({ code }) => code === found || code === 'Resource')) return true
  return targets.length > 0 && typesOf(targets, check)?.has(found) !== false
}

function isAsProfiled(item: Item, { nodes, type }: Place, check: Check): boolean {
  const types = nodes.flatMap((node) => node.types ?? [])
  const profiles = types.flatMap(({ profiles = [], targetProfiles = [] }) => [...profiles, ...targetProfiles])
  const faults = check.faults.apart()
  check.again.oneOf(profiles, item, typeOfItem(item, item.type ?? type), { ...check, faults, pending: [] })
  return faults.errors === 0
}
