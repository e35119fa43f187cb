/** What the path of a discriminator leads to. https://hl7.org/fhir/R4/profiling.html#discriminator */
import { targetType } from '../path/refers.ts'
import { spend } from '../path/work.ts'
import { isElement } from '../resource.ts'
import { type Check, typeOfItem } from './checking.ts'
import { type Item, itemOf, itemsOf } from './items.ts'
import { withoutVersion } from './library.ts'
import type { Node } from './node.ts'
import { clipped } from './shown.ts'
import { resolved } from './target.ts'
import { elementsOf, typeOfElement } from './types.ts'

/** In the item, and in the slice with what fixed values and patterns above say there. */
export type Place = {
  readonly items: readonly Item[]
  readonly nodes: readonly Node[]
  readonly expected: readonly Expected[]
  readonly type: string
  /** The items are what references refer to. */
  readonly isResolved: boolean
  /** Those of which only the type is known. */
  readonly stubs: ReadonlySet<unknown>
  /** What may be there, or said there, without its being known: the reasons. */
  readonly unknown: readonly string[]
  /** Something above may not be there at all. */
  readonly isBarred: boolean
}

export type Expected = { readonly value: unknown; readonly isExact: boolean }

export const expectedOf = ({ fixed, pattern }: Node): readonly Expected[] => [
  ...(fixed ?? []).map((value) => ({ value, isExact: true })),
  ...(pattern ?? []).map((value) => ({ value, isExact: false })),
]

const NONE: ReadonlySet<unknown> = new Set()
const NO_VALUES: readonly Expected[] = []

export function leadTo(path: string, item: Item, slice: Node, type: string, check: Check): Place {
  const nodes = [slice]
  const here: Place = {
    items: [item],
    nodes,
    expected: expectedOf(slice),
    type,
    isResolved: false,
    stubs: NONE,
    unknown: [],
    isBarred: false,
  }
  return stepsOf(path).reduce<Place>((place, step) => onward(place, step, check), here)
}

const STEPS = new Map<string, readonly string[]>()
const MOST_PATHS = 1_000

/** Paths of profiles are few, and asked for again and again. */
function stepsOf(path: string): readonly string[] {
  const known = STEPS.get(path)
  if (known !== undefined) return known
  const steps = path.match(/\w+\('[^']*'\)|\w+\([^)]*\)|\$this|[^.]+/g) ?? []
  if (STEPS.size >= MOST_PATHS) STEPS.clear()
  STEPS.set(path, steps)
  return steps
}

function onward(place: Place, step: string, check: Check): Place {
  spend(check.work, 1 + place.items.length + place.nodes.length)
  if (step === '$this') return place
  const [, call, argument = ''] = /^(\w+)\('?([^')]*)'?\)$/.exec(step) ?? []
  if (call === 'resolve') return resolvedPlace(place, check)
  if (call === 'extension') return extensionPlace(place, argument, check)
  if (call === 'ofType' || call === 'as') return ofType(place, argument)
  return within(place, step, check)
}

function within(place: Place, step: string, check: Check): Place {
  const nodes = place.nodes.flatMap((node) => childrenOf(node, step, place.isResolved, check))
  const items = place.items.flatMap((item) => {
    const plain = itemsOf(item, step, false)
    return plain.length > 0 ? plain : itemsOf(item, step, true)
  })
  const isUrl = step === 'url' && place.type === 'Extension'
  const named = place.nodes.flatMap((node) => namedBy(node, place.isResolved))
  // An extension is told by the canonical of its definition, whether that is loaded or not.
  const urls = isUrl ? named.map((canonical) => ({ value: withoutVersion(canonical), isExact: true })) : NO_VALUES
  const above = place.expected.flatMap(({ value, isExact }) => partsOf(value, step).map((part) => ({ value: part, isExact })))
  const isBarred = place.isBarred || place.nodes.some(({ max }) => max === 0)
  const expected = [...above, ...nodes.flatMap(expectedOf), ...urls]
  const unknown = isUrl && named.length > 0 ? place.unknown : [...place.unknown, ...unknownIn(place, named, step, check)]
  return { items, nodes, expected, type: typeOfElement(typeIn(place), step), isResolved: false, stubs: NONE, unknown, isBarred }
}

/** Where there is a choice, of the first item's. */
const typeIn = ({ items: [first], type }: Place): string => (first === undefined ? type : typeOfItem(first, first.type ?? type))

const partsOf = (value: unknown, name: string): readonly unknown[] =>
  isElement(value) && Object.hasOwn(value, name) ? [value[name]].flat() : []

/** The node of an element, with those of its choices and required slices, and where the profiles of its type have it. */
function childrenOf(node: Node, name: string, isResolved: boolean, check: Check): readonly Node[] {
  const content = node.content === undefined ? node : (check.profile.nodes.get(node.content) ?? node)
  const own = [content.children.get(name), content.children.get(`${name}[x]`)].filter((child) => child !== undefined)
  const roots = namedBy(node, isResolved)
    .map((canonical) => check.library.tree(canonical)?.root)
    .filter((root) => root !== undefined)
  const slicesOf = (child: Node): readonly Node[] => [...child.slices.values()].filter(({ min }) => child.isChoice || min > 0)
  return [...own.flatMap((child) => [child, ...slicesOf(child)]), ...roots.flatMap((root) => childrenOf(root, name, false, check))]
}

const namedBy = ({ types = [] }: Node, isResolved: boolean): readonly string[] =>
  types.flatMap(({ profiles = [], targetProfiles = [] }) => (isResolved ? targetProfiles : profiles))

const profilesOf = (node: Node): readonly string[] => namedBy(node, false)

function unknownIn({ stubs }: Place, named: readonly string[], step: string, { library }: Check): readonly string[] {
  const missing = named.length === 0 ? named : named.filter((canonical) => library.tree(canonical) === undefined)
  const isOutOfHand = step !== 'resourceType' && stubs.size > 0
  return missing.length === 0 && !isOutOfHand ? missing : [...missing.map(lacking), ...(isOutOfHand ? [OUT_OF_HAND] : [])]
}

export const lacking = (canonical: string): string => `the profile ${clipped(canonical)} is not loaded`

/** Of a reference to what is neither contained nor in the same Bundle. */
export const OUT_OF_HAND = 'what it refers to is not at hand'

function ofType(place: Place, wanted: string): Place {
  const forms = Object.entries(elementsOf('Extension')).filter(([, { type }]) => type === wanted)
  const capital = (forms[0]?.[0] ?? '').slice('value'.length)
  return {
    ...place,
    items: place.items.filter((item) => item.type === wanted || typeOfItem(item, place.type) === wanted),
    nodes: place.nodes.filter(({ isChoice, slice, name }) => !isChoice || slice === undefined || slice === `${name}${capital}`),
    type: wanted,
  }
}

function resolvedPlace(place: Place, check: Check): Place {
  const stubs = new Set<unknown>()
  let isOutOfHand = false
  const items = place.items.flatMap(({ value }) => {
    if (!isElement(value)) return []
    const target = resolved(value, check)
    if (target !== undefined) return [itemOf(target)]
    // Of what is not at hand the type may be known.
    const stub = { resourceType: targetType(value, check.owner) }
    isOutOfHand ||= stub.resourceType === undefined && (value.reference !== undefined || value.identifier !== undefined)
    stubs.add(stub)
    return stub.resourceType === undefined ? [] : [itemOf(stub)]
  })
  const unknown = isOutOfHand ? [...place.unknown, OUT_OF_HAND] : place.unknown
  return { ...place, items, expected: [], isResolved: true, stubs, unknown }
}

function extensionPlace({ items, nodes, ...others }: Place, url: string, check: Check): Place {
  return {
    ...others,
    items: items.flatMap((item) => itemsOf(item, 'extension', false)).filter(({ value }) => isElement(value) && value.url === url),
    nodes: nodes
      .flatMap((node) => [...(node.children.get('extension')?.slices.values() ?? [])])
      .filter((slice) => urlsOf(slice, check).includes(url)),
    expected: [],
    type: 'Extension',
  }
}

const urlsOf = (slice: Node, check: Check): readonly unknown[] => [
  ...profilesOf(slice).map(withoutVersion),
  ...childrenOf(slice, 'url', false, check).flatMap(({ fixed = [] }) => fixed),
]
