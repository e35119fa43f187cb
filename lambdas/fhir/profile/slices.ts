/** Which items belong to which slice, how many each has, and in which order they stand. https://hl7.org/fhir/R4/profiling.html#slicing */
import { atItem, type Check, checkCount, nameOf, report, typeOfItem } from './checking.ts'
import type { Slicing } from './definition.ts'
import { belongs } from './discriminator.ts'
import type { Item } from './items.ts'
import type { Node } from './node.ts'

const DEFAULT = '@default'

/** `type`: of the element, unless it is a choice. */
export function checkSlices(node: Node, items: readonly Item[], type: string, check: Check): void {
  const slicing = node.slicing ?? impliedOf(node)
  const slices = [...node.slices.values()].filter(({ slice }) => slice !== DEFAULT)
  const owners = items.map((item) => slices.findIndex((slice) => belongs(item, slice, slicing, item.type ?? typeOfItem(item, type), check)))
  checkRest(node, slicing, items, owners, type, check)
  const listed = { isListed: items.length > 0, leastOfList: node.min }
  for (const [i, slice] of slices.entries()) {
    const own = items.filter((_, at) => owners[at] === i)
    checkSlice(slice, own, type, listed, check)
  }
  checkOrder(node, slicing, items, owners, check)
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

/** Whether there are items at all, so that a finding can name their list; how many there must be, of any slice. */
type Listed = { readonly isListed: boolean; readonly leastOfList: number }

function checkSlice(slice: Node, items: readonly Item[], type: string, { isListed, leastOfList }: Listed, check: Check): void {
  const { faults } = check
  if (isListed) faults.enter(slice.name)
  // A list that is missing was told itself.
  if (isListed || leastOfList === 0) checkCount(slice, items.length, check)
  if (!isListed) faults.enter(slice.name)
  for (const item of items) atItem(item, faults, () => check.again.content(slice, item, item.type ?? typeOfItem(item, type), check))
  faults.leave()
  if (slice.slices.size > 0) checkSlices(slice, items, type, check)
}

/** Items of no slice. */
function checkRest(node: Node, { rules }: Slicing, items: readonly Item[], owners: readonly number[], type: string, check: Check): void {
  const rest = items.filter((_, at) => owners[at] === -1)
  const byDefault = node.slices.get(DEFAULT)
  if (byDefault !== undefined) return checkSlice(byDefault, rest, type, { isListed: items.length > 0, leastOfList: node.min }, check)
  if (rules !== 'closed') return
  check.faults.enter(node.name)
  for (const item of rest)
    atItem(item, check.faults, () =>
      report(check, 'structure', 'closed', `Only these slices of ${nameOf(node)} are allowed: ${[...node.slices.keys()].join(', ')}`),
    )
  check.faults.leave()
}

function checkOrder(node: Node, { rules, isOrdered }: Slicing, items: readonly Item[], owners: readonly number[], check: Check): void {
  let [last, restAt] = [-1, -1]
  check.faults.enter(node.name)
  for (const [at, owner] of owners.entries()) {
    if (owner < 0) restAt = at
    else {
      if (isOrdered === true && owner < last)
        atItem(items[at]!, check.faults, () =>
          report(check, 'structure', 'order', `The slices of ${nameOf(node)} must stand in the order of the profile`),
        )
      if (rules === 'openAtEnd' && restAt >= 0)
        atItem(items[restAt]!, check.faults, () =>
          report(check, 'structure', 'at end', `What is of no slice of ${nameOf(node)} must stand at the end`),
        )
      last = Math.max(last, owner)
    }
  }
  check.faults.leave()
}
