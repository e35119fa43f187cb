/** Compares the targets of a discriminator with the value that the slice requires: a fixed value, a pattern or a required binding. */
import type { CheckContext } from '../check-context.ts'
import { type Item, itemsOf } from '../items.ts'
import type { ProfileNode } from '../profile-tree.ts'
import { membershipOf } from './binding.ts'
import type { PathTarget } from './discriminator-path.ts'
import { equalsFixed, matchesPattern } from './fixed-and-pattern.ts'
import type { SliceValues } from './slice-values.ts'

/** Whether the targets have the value that the slice requires. undefined: the slice requires none. */
export function hasExpectedValue({ items }: PathTarget, { nodes, expected }: SliceValues, check: CheckContext): boolean | undefined {
  if (expected.length > 0)
    return expected.every(({ value, isExact }) =>
      items.some((item) => (isExact ? equalsFixed(item.value, value, check.work) : matchesPattern(item.value, value, check.work))),
    )
  const distinctive = nodes.filter(isDistinctive)
  if (distinctive.length === 0) return undefined
  return distinctive.every((node) => items.some((item) => isLike(item, node, check)))
}

/** Whether an item has all values that a node and its descendants require. */
function isLike(item: Item, node: ProfileNode, check: CheckContext): boolean {
  const { fixed, pattern, binding } = node
  if (fixed !== undefined && !equalsFixed(item.value, fixed[0], check.work)) return false
  if (pattern !== undefined && !matchesPattern(item.value, pattern[0], check.work)) return false
  // Accept a code with unknown membership: it may be in the value set.
  if (binding?.strength === 'required' && ['out', 'none'].includes(membershipOf(item.value, binding.valueSet ?? '', check))) return false
  return [...node.children.values()].every((child) => {
    const items = itemsOf(item, child.name, child.isChoice)
    if (items.length === 0) return child.min === 0
    const slices = requiredSlices(child).filter(isDistinctive)
    if (!slices.every((slice) => items.some((each) => isLike(each, slice, check)))) return false
    return !isDistinctiveItself(child) || items.some((each) => isLike(each, child, check))
  })
}

const requiredSlices = ({ slices }: ProfileNode): readonly ProfileNode[] => [...slices.values()].filter(({ min }) => min > 0)

const isDistinctive = (node: ProfileNode): boolean => isDistinctiveItself(node) || requiredSlices(node).some(isDistinctive)

const isDistinctiveItself = (node: ProfileNode): boolean =>
  node.fixed !== undefined ||
  node.pattern !== undefined ||
  node.binding?.strength === 'required' ||
  [...node.children.values()].some(isDistinctive)
