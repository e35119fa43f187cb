/** Whether an item belongs to a slice. https://hl7.org/fhir/R4/profiling.html#discriminator */
import { spend } from '../path/work.ts'
import { type Check, notLoaded, typeOfItem } from './checking.ts'
import type { Discriminator, Slicing } from './definition.ts'
import { isExpected } from './expected.ts'
import type { Item } from './items.ts'
import { typeNamed } from './items.ts'
import type { Node } from './node.ts'
import { leadTo, type Place } from './place.ts'
import { typesOf } from './target.ts'

/** What following a discriminator takes, against looking at an element. */
const TOLD = 4

/** Without discriminators it belongs where it fits. A discriminator of which the slice says nothing does not count. */
export function belongs(item: Item, slice: Node, { discriminators }: Slicing, type: string, check: Check): boolean {
  if (discriminators.length === 0) return isWithoutFault(item, slice, type, check)
  let isTold = false
  for (const discriminator of discriminators) {
    spend(check.work, TOLD)
    const answer = isToldApart(item, slice, discriminator, type, check)
    if (answer === false) return false
    isTold ||= answer === true
  }
  return isTold
}

function isWithoutFault(item: Item, slice: Node, type: string, check: Check): boolean {
  const faults = check.faults.apart()
  check.again.content(slice, item, type, { ...check, faults, pending: [] })
  return faults.errors === 0
}

/** undefined: the slice says nothing of it. */
function isToldApart(item: Item, slice: Node, { type: kind, path }: Discriminator, type: string, check: Check): boolean | undefined {
  const place = leadTo(path, item, slice, type, check)
  switch (kind) {
    case 'value':
    case 'pattern':
      return isExpected(place, check)
    case 'exists':
      return exists(place)
    case 'type':
      return place.items.some((each) => isOfType(each, place, slice, check))
    case 'profile':
      return place.items.some((each) => isAsProfiled(each, place, slice, check))
  }
}

function exists({ items, nodes, isBarred }: Place): boolean | undefined {
  if (isBarred || nodes.some(({ max }) => max === 0)) return items.length === 0
  return nodes.every(({ min }) => min === 0) ? undefined : items.length > 0
}

function isOfType(item: Item, { nodes, type, isResolved }: Place, slice: Node, check: Check): boolean {
  const types = nodes.flatMap((node) => node.types ?? [])
  if (types.length === 0) return item.type !== undefined && item.type === typeNamed((slice.slice ?? '').slice(slice.name.length))
  const found = typeOfItem(item, item.type ?? type)
  if (isResolved)
    return (
      typesOf(
        types.flatMap(({ targetProfiles = [] }) => targetProfiles),
        check,
      )?.has(found) !== false
    )
  return types.some(({ code }) => code === found || code === 'Resource' || code === 'DomainResource')
}

/** What is not at hand is taken by its type; a profile that is not loaded, by nothing. */
function isAsProfiled(item: Item, place: Place, slice: Node, check: Check): boolean {
  const types = place.nodes.flatMap((node) => node.types ?? [])
  const profiles = types.flatMap(({ profiles = [], targetProfiles = [] }) => (place.isResolved ? targetProfiles : profiles))
  if (profiles.length === 0 || place.stubs.has(item.value)) return isOfType(item, place, slice, check)
  const missing = profiles.find((canonical) => !canonical.startsWith(BASE) && check.library.tree(canonical) === undefined)
  if (missing !== undefined) notLoaded(missing, check)
  const faults = check.faults.apart()
  check.again.oneOf(profiles, item, typeOfItem(item, item.type ?? place.type), { ...check, faults, pending: [] })
  return faults.errors === 0
}

const BASE = 'http://hl7.org/fhir/StructureDefinition/'
