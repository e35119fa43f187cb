/** Whether an item belongs to a slice. https://hl7.org/fhir/R4/profiling.html#discriminator */
import { spend } from '../path/work.ts'
import { type Check, type Pieces, trialOf, typeOfItem } from './checking.ts'
import type { Discriminator, Slicing } from './definition.ts'
import { isExpected } from './expected.ts'
import type { Item } from './items.ts'
import { typeNamed } from './items.ts'
import { ownType } from './library.ts'
import type { Node } from './node.ts'
import { lacking, leadTo, OUT_OF_HAND, type Place } from './place.ts'
import { typesOf } from './target.ts'

/** What following a discriminator takes, against looking at an element. */
const TOLD = 4

/** `unknown`: what is loaded, or at hand, does not say. */
export type Belonging = 'yes' | 'no' | { readonly unknown: string }

/**
 * Without discriminators it belongs where it fits. A discriminator of which the slice says nothing does not count. In pieces where the item
 * has to be checked to find it out.
 */
export function belongs(item: Item, slice: Node, { discriminators }: Slicing, type: string, check: Check): Belonging | Pieces<Belonging> {
  if (discriminators.length === 0) return tried(check, (trial) => check.again.content(slice, item, type, trial))
  const profiled: Place[] = []
  const answers: (Belonging | undefined)[] = []
  for (const { type: kind, path } of discriminators) {
    spend(check.work, TOLD)
    const place = leadTo(path, item, slice, type, check)
    if (kind === 'profile') profiled.push(place)
    else answers.push(isToldApart(kind, place, slice, check))
    if (answers.at(-1) === 'no') return 'no'
  }
  return profiled.length === 0 ? together(answers) : areAsProfiled(profiled, answers, slice, check)
}

function* areAsProfiled(
  places: readonly Place[],
  others: readonly (Belonging | undefined)[],
  slice: Node,
  check: Check,
): Pieces<Belonging> {
  const answers = [...others]
  for (const place of places) {
    const each: Belonging[] = []
    for (const item of place.items) each.push(yield* isAsProfiled(item, place, slice, check))
    answers.push(anyOf(place, each))
  }
  return together(answers)
}

function together(answers: readonly (Belonging | undefined)[]): Belonging {
  if (answers.includes('no')) return 'no'
  return answers.find((answer) => typeof answer === 'object') ?? (answers.includes('yes') ? 'yes' : 'no')
}

/** Whether it is without fault. */
function* tried(check: Check, against: (trial: Check) => Pieces): Pieces<Belonging> {
  const trial = trialOf(check)
  yield* against(trial)
  const { faults } = trial
  if (faults.errors > 0) return 'no'
  return faults.undecided === undefined ? 'yes' : { unknown: faults.undecided }
}

/** undefined: the slice says nothing of it. */
function isToldApart(kind: Exclude<Discriminator['type'], 'profile'>, place: Place, slice: Node, check: Check): Belonging | undefined {
  switch (kind) {
    case 'value':
    case 'pattern':
      return isLikely(isExpected(place, check), place)
    case 'exists':
      return isLikely(exists(place), place)
    case 'type':
      return anyOf(
        place,
        place.items.map((each) => isOfType(each, place, slice, check)),
      )
  }
}

/** Where nothing is said, or nothing is there, what is not known may say otherwise. */
function isLikely(answer: boolean | undefined, { unknown, items }: Place): Belonging | undefined {
  const [reason] = answer === false && items.length === 0 ? unknown.filter((each) => each === OUT_OF_HAND) : unknown
  if (reason !== undefined && (answer === undefined || items.length === 0)) return { unknown: reason }
  return answer === undefined ? undefined : answer ? 'yes' : 'no'
}

function anyOf({ unknown: [reason] }: Place, answers: readonly Belonging[]): Belonging {
  if (answers.includes('yes')) return 'yes'
  return answers.find((answer) => answer !== 'no') ?? (reason === undefined ? 'no' : { unknown: reason })
}

function exists({ items, nodes, isBarred }: Place): boolean | undefined {
  if (isBarred || nodes.some(({ max }) => max === 0)) return items.length === 0
  return nodes.every(({ min }) => min === 0) ? undefined : items.length > 0
}

function isOfType(item: Item, { nodes, type, isResolved }: Place, slice: Node, check: Check): Belonging {
  const types = nodes.flatMap((node) => node.types ?? [])
  const whether = (isSo: boolean): Belonging => (isSo ? 'yes' : 'no')
  if (types.length === 0) return whether(item.type !== undefined && item.type === typeNamed((slice.slice ?? '').slice(slice.name.length)))
  const found = typeOfItem(item, item.type ?? type)
  if (!isResolved) return whether(types.some(({ code }) => code === found || code === 'Resource' || code === 'DomainResource'))
  const targets = types.flatMap(({ targetProfiles = [] }) => targetProfiles)
  const known = typesOf(targets, check)
  const [missing] = known.missing
  if (targets.length === 0 || known.types.has(found) || known.types.has('Resource')) return 'yes'
  return missing === undefined ? 'no' : { unknown: lacking(missing) }
}

/** Of what is not at hand the type is known. */
function* isAsProfiled(item: Item, place: Place, slice: Node, check: Check): Pieces<Belonging> {
  const types = place.nodes.flatMap((node) => node.types ?? [])
  const profiles = types.flatMap(({ profiles = [], targetProfiles = [] }) => (place.isResolved ? targetProfiles : profiles))
  if (profiles.length === 0) return isOfType(item, place, slice, check)
  const type = typeOfItem(item, item.type ?? place.type)
  if (!place.stubs.has(item.value)) return yield* tried(check, (trial) => check.again.oneOf(profiles, item, type, trial))
  const answer = isOfType(item, place, slice, check)
  return answer === 'yes' && !profiles.some((canonical) => ownType(canonical) === type) ? { unknown: OUT_OF_HAND } : answer
}
