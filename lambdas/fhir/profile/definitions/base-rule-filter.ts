/** Removes the rules that R4 itself has for a type from a snapshot. The validator checks them without profiles. */
import { R4 } from '../../definitions/r4.ts'
import type { ElementShape } from '../../path/definitions.ts'
import { r4TypeNameOf, withoutVersion } from '../canonical.ts'
import type { Profile, ProfileElement, ProfileType } from '../definition.ts'
import { elementOf, elementsOf } from '../type-elements.ts'

export const withoutBaseRules = (profile: Profile): Profile =>
  profile.isWhole ? { ...profile, elements: profile.elements.map(beyond).filter((element) => Object.keys(element).length > 1) } : profile

function beyond(element: ProfileElement): ProfileElement {
  const { id, min, max, types, binding, ...others } = element
  const isSlice = id.slice(id.lastIndexOf('.') + 1).includes(':')
  const shapes = shapesAt(id)
  const [first] = shapes
  const isMin = first === undefined ? min === 0 : min === (isSlice ? 0 : leastOf(id, first))
  const isMax = max === (first === undefined || (isSlice && first.list === true) || first.list === true ? '*' : 1)
  const isTypes = types === undefined || saysNothing(types, shapes)
  const isBinding =
    binding?.max === undefined && binding?.strength === 'required' && shapes.some((shape) => isBoundTo(shape, binding.valueSet ?? ''))
  return {
    id,
    ...(min === undefined || isMin ? {} : { min }),
    ...(max === undefined || isMax ? {} : { max }),
    ...(isTypes ? {} : { types }),
    ...(binding === undefined || isBinding ? {} : { binding }),
    ...others,
  }
}

const isBoundTo = ({ codes }: ElementShape, valueSet: string): boolean =>
  typeof codes === 'number' && R4.codeSets[codes]!.url === withoutVersion(valueSet)

/**
 * Returns the shape of the element with this id. For a choice, returns the shapes of all its forms. Returns none if R4 has no such element.
 */
function shapesAt(id: string): readonly ElementShape[] {
  const [type = '', ...steps] = id.split('.').map((step) => step.split(':')[0]!)
  let found: readonly ElementShape[] = [{ type }]
  for (const step of steps) {
    const above = found[0]?.type ?? ''
    const element = elementOf(above, step)
    const forms = found.length > 1 ? [] : Object.values(elementsOf(above)).filter(({ choice }) => choice === step.slice(0, -3))
    found = step.endsWith('[x]') ? forms : element === undefined ? [] : [element]
  }
  return steps.length === 0 ? [] : found
}

function leastOf(id: string, { min = 0, choice }: ElementShape): number {
  if (choice === undefined) return min
  const parent = id.slice(0, id.lastIndexOf('.')).replace(/:[^.]*/g, '')
  return Object.hasOwn(R4.shapes, parent) && R4.shapes[parent]!.required?.includes(choice) === true ? 1 : 0
}

/** Whether R4 allows the same types there, so that the profile does not restrict them. */
function saysNothing(types: readonly ProfileType[], shapes: readonly ElementShape[]): boolean {
  if (shapes.length === 0) return types.every(isOpen)
  if (shapes.length > 1 && types.length < shapes.length) return false
  if (shapes[0]!.type === 'Resource' && !types.some(({ code }) => code === 'Resource')) return false
  return types.every((type) => isOpen(type) || shapes.some((shape) => isTargets(type, shape)))
}

const isOpen = ({ profiles = [], targetProfiles = [] }: ProfileType): boolean => profiles.length === 0 && targetProfiles.length === 0

function isTargets({ profiles = [], targetProfiles = [] }: ProfileType, { targets }: ElementShape): boolean {
  const names = targetProfiles.map(r4TypeNameOf)
  if (profiles.length > 0 || !names.every((name) => name !== undefined)) return false
  if (names.includes('Resource')) return true
  return targets !== undefined && names.toSorted().join() === [...R4.targets[targets]!].sort().join()
}
