/** Slices: assigns items to slices, then checks their number, content and order. https://hl7.org/fhir/R4/profiling.html#slicing */
import { spendWork } from '../../path/work-budget.ts'
import {
  type CheckContext,
  checkMaximum,
  checkMinimum,
  enterItem,
  type IncrementalCheck,
  isPieceOver,
  leaveItem,
  NO_CHECKS,
  nameOf,
  type RemainingCheck,
  report,
  typeOfItem,
  visitItem,
} from '../check-context.ts'
import { joinFirst } from '../clipped-text.ts'
import type { Slicing } from '../definition.ts'
import type { Item } from '../items.ts'
import type { ProfileNode } from '../profile-tree.ts'
import { type SliceCandidate, type SliceDefinition, type SliceMembership, sliceMembershipOf } from './discriminator.ts'
import { describeExpected } from './value-text.ts'

const DEFAULT = '@default'

/**
 * Items of an element or of a slice. `isListed`: whether the element has items, so that an issue can name their list. `isReported`: whether
 * the absence of the items is already reported.
 */
type Sliced = {
  readonly items: readonly Item[]
  readonly type: string
  readonly isListed: boolean
  readonly isReported: boolean
  /** Number of further items that may belong to the slice, because the loaded definitions do not decide. */
  readonly possible: number
}

/** Items of an element. `owners`: for each item, the index of its slice, or NONE or UNKNOWN. */
type Owned = Sliced & { readonly owners: readonly number[] }

const NONE = -1
const UNKNOWN = -2

/** Checks the items of an element against its slices. `type`: type of the element, unless it is a choice. */
export const checkSlices = (node: ProfileNode, items: readonly Item[], type: string, check: CheckContext): IncrementalCheck =>
  checkSliced(node, { items, type, isListed: items.length > 0, isReported: false, possible: 0 }, undefined, check)

/** Checks items against the slices of an element, or of a slice that is sliced further. `above`: slicing for a slice that declares none. */
function* checkSliced(node: ProfileNode, sliced: Sliced, above: Slicing | undefined, check: CheckContext): IncrementalCheck {
  const { items } = sliced
  const slicing = node.slicing ?? above ?? impliedOf(node)
  const slices = [...node.slices.values()].filter(({ slice }) => slice !== DEFAULT)
  spendWork(check.work, slices.length)
  const possible = slices.map(() => sliced.possible)
  const owners = items.length === 0 ? NO_OWNERS : yield* ownersOf(node, slices, slicing, sliced, possible, check)
  const owned = { ...sliced, owners, isReported: items.length === 0 && node.min > 0 }
  yield* checkRest(node, slicing, owned, check) ?? NO_CHECKS
  const itemsBySlice = Map.groupBy(items.entries(), ([at]) => owners[at]!)
  const inherited: Slicing = { discriminators: slicing.discriminators, rules: 'open' }
  for (const [i, slice] of slices.entries()) {
    const own = (itemsBySlice.get(i) ?? []).map(([, item]) => item)
    yield* checkSlice(slice, { ...owned, items: own, possible: possible[i]! }, inherited, check) ?? NO_CHECKS
  }
  checkOrder(node, slicing, owned, check)
}

const NO_OWNERS: readonly number[] = []

/**
 * Returns for each item the index of the first slice that it belongs to, or NONE or UNKNOWN. Increments `possible` of each slice to which
 * an UNKNOWN item may belong.
 */
function* ownersOf(
  node: ProfileNode,
  slices: readonly ProfileNode[],
  slicing: Slicing,
  { items, type }: Sliced,
  possible: number[],
  check: CheckContext,
): IncrementalCheck<readonly number[]> {
  const definitions = slices.map((slice): SliceDefinition => ({ slice, values: [] }))
  const owners: number[] = []
  for (const item of items) {
    const candidate: SliceCandidate = { item, type: item.type ?? typeOfItem(item, type), found: [] }
    const unknown = new Map<number, string>()
    let owner = NONE
    for (let i = 0; owner === NONE && i < slices.length; i++) {
      if (isPieceOver(check)) yield
      const membership = sliceMembershipOf(candidate, definitions[i]!, slicing, check)
      const answer = isMembership(membership) ? membership : yield* membership
      if (answer === 'yes') owner = i
      else if (answer !== 'no') unknown.set(i, answer.unknown)
    }
    const [reason] = owner === NONE ? unknown.values() : []
    owners.push(reason === undefined ? owner : UNKNOWN)
    if (reason === undefined) continue
    for (const i of unknown.keys()) possible[i]!++
    reportUnknown(node, item, reason, check)
  }
  return owners
}

const isMembership = (membership: SliceMembership | IncrementalCheck<SliceMembership>): membership is SliceMembership =>
  typeof membership === 'string' || 'unknown' in membership

function reportUnknown(node: ProfileNode, item: Item, reason: string, check: CheckContext): void {
  const text = `To which slice of ${nameOf(node)} this belongs is not known: ${reason}`
  check.faults.enter(node.name)
  visitItem(item, check.faults, () => report(check, 'not-supported', `slice ${nameOf(node)}`, text, 'information'))
  check.faults.leave()
}

/** Returns the slicing of an element that declares none: slices of a choice differ by type, slices of extensions by url. */
const impliedOf = ({ isChoice, name }: ProfileNode): Slicing => ({
  discriminators: isChoice
    ? [{ type: 'type', path: '$this' }]
    : name === 'extension' || name === 'modifierExtension'
      ? [{ type: 'value', path: 'url' }]
      : [],
  rules: 'open',
})

/** Returns the values that the slice requires at its discriminators, as a text for messages. Empty if it requires none there. */
function valuesOf(slice: ProfileNode, { discriminators }: Slicing): string {
  const values = discriminators.slice(0, MAX_VALUES).flatMap(({ path }) => {
    const names = path === '$this' ? [] : path.split('.')
    const node = names.reduce<ProfileNode | undefined>((at, name) => at?.children.get(name), slice)
    const value = node?.fixed ?? node?.pattern
    return value === undefined ? [] : [path === '$this' ? describeExpected(value[0]) : `${path} ${describeExpected(value[0])}`]
  })
  return joinFirst(values, ' and ')
}

/** Maximum discriminators with values in a message. Further ones are left out. */
const MAX_VALUES = 10

/** Checks the number and the content of a slice's items. `slicing`: slicing of the element that the slice belongs to. */
function checkSlice(slice: ProfileNode, sliced: Sliced, slicing: Slicing, check: CheckContext): RemainingCheck {
  const { items, isListed, isReported, possible } = sliced
  const { faults } = check
  if (isListed) faults.enter(slice.name)
  if (!isReported) checkMinimum(slice, items.length + possible, check, () => valuesOf(slice, slicing))
  if (!isListed) faults.enter(slice.name)
  checkMaximum(slice, items.length, check)
  faults.leave()
  return items.length === 0 && slice.slices.size === 0 ? undefined : sliceInPieces(slice, sliced, slicing, check)
}

function* sliceInPieces(slice: ProfileNode, sliced: Sliced, slicing: Slicing, check: CheckContext): IncrementalCheck {
  const { faults } = check
  faults.enter(slice.name)
  for (const item of sliced.items) {
    if (isPieceOver(check)) yield
    enterItem(item, faults)
    yield* check.again.content(slice, item, item.type ?? typeOfItem(item, sliced.type), check) ?? NO_CHECKS
    leaveItem(item, faults)
  }
  faults.leave()
  if (slice.slices.size > 0) yield* checkSliced(slice, sliced, slicing, check)
}

/** Checks the items that belong to no slice: against `@default` if it exists. A closed slicing without `@default` allows none. */
function checkRest(node: ProfileNode, slicing: Slicing, { owners, ...sliced }: Owned, check: CheckContext): RemainingCheck {
  const defaultSlice = node.slices.get(DEFAULT)
  if (defaultSlice === undefined && slicing.rules !== 'closed') return undefined
  const rest = sliced.items.filter((_, at) => owners[at] === NONE)
  if (defaultSlice !== undefined) return checkSlice(defaultSlice, { ...sliced, items: rest }, slicing, check)
  const names = joinFirst([...node.slices.keys()])
  check.faults.enter(node.name)
  for (const item of rest)
    visitItem(item, check.faults, () => report(check, 'structure', 'closed', `Only these slices of ${nameOf(node)} are allowed: ${names}`))
  check.faults.leave()
  return undefined
}

function checkOrder(node: ProfileNode, { rules, isOrdered }: Slicing, { items, owners }: Owned, check: CheckContext): void {
  if (isOrdered !== true && rules !== 'openAtEnd') return
  let [last, restAt] = [-1, -1]
  check.faults.enter(node.name)
  const reportAt = (at: number, rule: string, text: string): void =>
    visitItem(items[at]!, check.faults, () => report(check, 'structure', rule, text))
  for (const [at, owner] of owners.entries()) {
    if (owner === NONE) restAt = at
    else if (owner !== UNKNOWN) {
      if (isOrdered === true && owner < last) reportAt(at, 'order', `The slices of ${nameOf(node)} must stand in the order of the profile`)
      if (rules === 'openAtEnd' && restAt >= 0) reportAt(restAt, 'at end', `What is of no slice of ${nameOf(node)} must stand at the end`)
      last = Math.max(last, owner)
    }
  }
  check.faults.leave()
}
