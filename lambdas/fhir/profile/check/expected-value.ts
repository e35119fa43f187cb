/** Compares the targets of a discriminator with the value that the slice requires: a fixed value, a pattern or a required binding. */
import type { CheckContext } from '../check-context.ts'
import { type Item, itemsOf } from '../items.ts'
import type { ProfileNode } from '../profile-tree.ts'
import { membershipOf } from './binding.ts'
import type { PathTarget } from './discriminator-path.ts'
import { equalsFixed, matchesPattern } from './fixed-and-pattern.ts'
import type { SliceValues } from './slice-values.ts'

/** `unknown`: why the loaded value sets do not decide. */
export type Undecided = { readonly unknown: string }

/** Whether the targets have the value that the slice requires. undefined: the slice requires none. */
export function hasExpectedValue(
  { items }: PathTarget,
  { nodes, expected }: SliceValues,
  check: CheckContext,
): boolean | Undecided | undefined {
  if (expected.length > 0)
    return expected.every(({ value, isExact }) =>
      items.some((item) => (isExact ? equalsFixed(item.value, value, check.work) : matchesPattern(item.value, value, check.work))),
    )
  const distinctive = nodes.filter(isDistinctive)
  if (distinctive.length === 0) return undefined
  const reasons = new Set<string>()
  const isMet = (accepted: Comparison['accepted']): boolean => {
    const comparison = { check: { ...check, reasons }, accepted }
    return distinctive.every((node) => items.some((item) => isLike(item, node, comparison)))
  }
  if (isMet(CERTAIN)) return true
  const [unknown] = reasons
  return unknown !== undefined && isMet(POSSIBLE) ? { unknown } : false
}

/** `accepted`: membership in the value set of a required binding that makes an item like the node. */
type Comparison = {
  readonly check: CheckContext & { readonly reasons: Set<string> }
  readonly accepted: ReadonlySet<ReturnType<typeof membershipOf>>
}

const CERTAIN: Comparison['accepted'] = new Set(['in'])
const POSSIBLE: Comparison['accepted'] = new Set(['in', 'unknown'])

/** Whether an item has all values that a node and its descendants require. */
function isLike(item: Item, node: ProfileNode, comparison: Comparison): boolean {
  const { check, accepted } = comparison
  const { fixed, pattern, binding } = node
  if (fixed !== undefined && !equalsFixed(item.value, fixed[0], check.work)) return false
  if (pattern !== undefined && !matchesPattern(item.value, pattern[0], check.work)) return false
  if (binding?.strength === 'required' && !accepted.has(membershipOf(item.value, binding.valueSet ?? '', check))) return false
  return [...node.children.values()].every((child) => {
    const items = itemsOf(item, child.name, child.isChoice)
    if (items.length === 0) return child.min === 0
    const slices = requiredSlices(child).filter(isDistinctive)
    if (!slices.every((slice) => items.some((each) => isLike(each, slice, comparison)))) return false
    return !isDistinctiveItself(child) || items.some((each) => isLike(each, child, comparison))
  })
}

const requiredSlices = ({ slices }: ProfileNode): readonly ProfileNode[] => [...slices.values()].filter(({ min }) => min > 0)

const isDistinctive = (node: ProfileNode): boolean => isDistinctiveItself(node) || requiredSlices(node).some(isDistinctive)

const isDistinctiveItself = (node: ProfileNode): boolean =>
  node.fixed !== undefined ||
  node.pattern !== undefined ||
  node.binding?.strength === 'required' ||
  [...node.children.values()].some(isDistinctive)
