/** Which items belong to which slice, how many each has, and in which order they stand. https://hl7.org/fhir/R4/profiling.html#slicing */
import { spend } from '../path/work.ts'
import {
  atItem,
  type Check,
  checkLeast,
  checkMost,
  enterItem,
  isDue,
  leaveItem,
  nameOf,
  type Pieces,
  report,
  typeOfItem,
} from './checking.ts'
import type { Slicing } from './definition.ts'
import { type Belonging, belongs } from './discriminator.ts'
import type { Item } from './items.ts'
import type { Node } from './node.ts'
import { shown } from './said-value.ts'
import { listed } from './shown.ts'

const DEFAULT = '@default'

/**
 * Items of an element or of a slice. `isListed`: the element has items at all, so that a finding can name their list. `isTold`: that there
 * are none of these was told.
 */
type Sliced = {
  readonly items: readonly Item[]
  readonly type: string
  readonly isListed: boolean
  readonly isTold: boolean
  /** How many more may be of these: whether they are is not known. */
  readonly possible: number
}

/** With the slice each belongs to. */
type Owned = Sliced & { readonly owners: readonly number[] }

const NONE = -1
const UNKNOWN = -2

/** `type`: of the element, unless it is a choice. */
export const checkSlices = (node: Node, items: readonly Item[], type: string, check: Check): Pieces =>
  checkSliced(node, { items, type, isListed: items.length > 0, isTold: false, possible: 0 }, undefined, check)

/** `above`: of what is sliced anew here. */
function* checkSliced(node: Node, sliced: Sliced, above: Slicing | undefined, check: Check): Pieces {
  const { items, type } = sliced
  const slicing = node.slicing ?? above ?? impliedOf(node)
  const slices = [...node.slices.values()].filter(({ slice }) => slice !== DEFAULT)
  spend(check.work, slices.length)
  const possible = slices.map(() => sliced.possible)
  const owners: number[] = []
  for (const item of items) {
    const unknown = new Map<number, string>()
    const owner = yield* ownerOf(item, slices, slicing, item.type ?? typeOfItem(item, type), unknown, check)
    const [reason] = owner === NONE ? unknown.values() : []
    owners.push(reason === undefined ? owner : UNKNOWN)
    if (reason === undefined) continue
    for (const i of unknown.keys()) possible[i]!++
    tellUnknown(node, item, reason, check)
  }
  const owned = { ...sliced, owners, isTold: items.length === 0 && node.min > 0 }
  yield* checkRest(node, slicing, owned, check)
  const bySlice = Map.groupBy(items.entries(), ([at]) => owners[at]!)
  const anew: Slicing = { discriminators: slicing.discriminators, rules: 'open' }
  for (const [i, slice] of slices.entries())
    yield* checkSlice(slice, { ...owned, items: (bySlice.get(i) ?? []).map(([, item]) => item), possible: possible[i]! }, anew, check)
  checkOrder(node, slicing, owned, check)
}

/** The place of the first slice it belongs to. `unknown`: why of others it is not known, by their places. */
function* ownerOf(
  item: Item,
  slices: readonly Node[],
  slicing: Slicing,
  type: string,
  unknown: Map<number, string>,
  check: Check,
): Pieces<number> {
  for (const [i, slice] of slices.entries()) {
    if (isDue(check)) yield
    const asked = belongs(item, slice, slicing, type, check)
    const answer: Belonging = isBelonging(asked) ? asked : yield* asked
    if (answer === 'yes') return i
    if (answer !== 'no') unknown.set(i, answer.unknown)
  }
  return NONE
}

const isBelonging = (asked: Belonging | Pieces<Belonging>): asked is Belonging => typeof asked === 'string' || 'unknown' in asked

function tellUnknown(node: Node, item: Item, reason: string, check: Check): void {
  const text = `To which slice of ${nameOf(node)} this belongs is not known: ${reason}`
  check.faults.enter(node.name)
  atItem(item, check.faults, () => report(check, 'not-supported', `slice ${nameOf(node)}`, text, 'information'))
  check.faults.leave()
}

/** Slices of a choice are its types, those of extensions their definitions, whether it is said or not. */
const impliedOf = ({ isChoice, name }: Node): Slicing => ({
  discriminators: isChoice
    ? [{ type: 'type', path: '$this' }]
    : name === 'extension' || name === 'modifierExtension'
      ? [{ type: 'value', path: 'url' }]
      : [],
  rules: 'open',
})

/** The values that make an item one of a slice, as far as it gives them. */
function valuesOf(slice: Node, { discriminators }: Slicing): string {
  const values = discriminators.slice(0, TOLD).flatMap(({ path }) => {
    const names = path === '$this' ? [] : path.split('.')
    const node = names.reduce<Node | undefined>((at, name) => at?.children.get(name), slice)
    const value = node?.fixed ?? node?.pattern
    return value === undefined ? [] : [path === '$this' ? shown(value[0]) : `${path} ${shown(value[0])}`]
  })
  return listed(values, ' and ')
}

/** Discriminators whose values are told. */
const TOLD = 10

/** `slicing`: what told it apart. */
function* checkSlice(slice: Node, sliced: Sliced, slicing: Slicing, check: Check): Pieces {
  const { items, type, isListed, isTold, possible } = sliced
  const { faults } = check
  if (isListed) faults.enter(slice.name)
  if (!isTold) checkLeast(slice, items.length + possible, check, () => valuesOf(slice, slicing))
  if (!isListed) faults.enter(slice.name)
  checkMost(slice, items.length, check)
  for (const item of items) {
    if (isDue(check)) yield
    enterItem(item, faults)
    yield* check.again.content(slice, item, item.type ?? typeOfItem(item, type), check)
    leaveItem(item, faults)
  }
  faults.leave()
  if (slice.slices.size > 0) yield* checkSliced(slice, sliced, slicing, check)
}

/** Items of no slice. */
function* checkRest(node: Node, slicing: Slicing, { owners, ...sliced }: Owned, check: Check): Pieces {
  const rest = sliced.items.filter((_, at) => owners[at] === NONE)
  const byDefault = node.slices.get(DEFAULT)
  if (byDefault !== undefined) return yield* checkSlice(byDefault, { ...sliced, items: rest }, slicing, check)
  if (slicing.rules !== 'closed') return
  const names = listed([...node.slices.keys()])
  check.faults.enter(node.name)
  for (const item of rest)
    atItem(item, check.faults, () => report(check, 'structure', 'closed', `Only these slices of ${nameOf(node)} are allowed: ${names}`))
  check.faults.leave()
}

function checkOrder(node: Node, { rules, isOrdered }: Slicing, { items, owners }: Owned, check: Check): void {
  if (isOrdered !== true && rules !== 'openAtEnd') return
  let [last, restAt] = [-1, -1]
  check.faults.enter(node.name)
  const tell = (at: number, rule: string, text: string): void =>
    atItem(items[at]!, check.faults, () => report(check, 'structure', rule, text))
  for (const [at, owner] of owners.entries()) {
    if (owner === NONE) restAt = at
    else if (owner !== UNKNOWN) {
      if (isOrdered === true && owner < last) tell(at, 'order', `The slices of ${nameOf(node)} must stand in the order of the profile`)
      if (rules === 'openAtEnd' && restAt >= 0) tell(restAt, 'at end', `What is of no slice of ${nameOf(node)} must stand at the end`)
      last = Math.max(last, owner)
    }
  }
  check.faults.leave()
}
