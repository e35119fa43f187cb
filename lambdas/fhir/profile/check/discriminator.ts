/** Membership of items in slices. https://hl7.org/fhir/R4/profiling.html#discriminator */
import { spendWork } from '../../path/work-budget.ts'
import { r4TypeNameOf } from '../canonical.ts'
import { type CheckContext, type IncrementalCheck, NO_CHECKS, type RemainingCheck, trialOf, typeOfItem } from '../check-context.ts'
import { clipText } from '../clipped-text.ts'
import type { Discriminator, Slicing } from '../definition.ts'
import type { Item } from '../items.ts'
import { choiceTypeOf } from '../items.ts'
import type { ProfileNode } from '../profile-tree.ts'
import { followPath, type PathTarget } from './discriminator-path.ts'
import { hasExpectedValue, type Undecided } from './expected-value.ts'
import { typesOfProfiles } from './reference-target.ts'
import { type SliceValues, sliceValuesAt } from './slice-values.ts'

/** Work units for following a discriminator. Visiting an element costs 1. */
const DISCRIMINATOR_COST = 6

/** Whether an item belongs to a slice. `unknown`: the reason why the loaded definitions and available resources do not decide. */
export type SliceMembership = 'yes' | 'no' | { readonly unknown: string }

/** Item to assign to a slice. `found`: targets of each discriminator in the item, found once for all slices. `type`: type of the item. */
export type SliceCandidate = { readonly item: Item; readonly type: string; readonly found: PathTarget[] }

/** Slice with its rules. `values`: values of the slice for each discriminator, found once for all items. */
export type SliceDefinition = { readonly slice: ProfileNode; readonly values: SliceValues[] }

type Comparison = { readonly found: PathTarget; readonly values: SliceValues }

/**
 * Returns whether the item belongs to the slice. Without discriminators, an item that conforms to the slice belongs to it. A discriminator
 * without rules in the slice is ignored; if none has rules, no item belongs to it. Returns a check in pieces if the item must first be
 * checked against the slice or a profile.
 */
export function sliceMembershipOf(
  candidate: SliceCandidate,
  definition: SliceDefinition,
  { discriminators }: Slicing,
  check: CheckContext,
): SliceMembership | IncrementalCheck<SliceMembership> {
  const { item, type } = candidate
  if (discriminators.length === 0) return tried(check, (trial) => check.again.content(definition.slice, item, type, trial))
  const profiled: Comparison[] = []
  let answer: SliceMembership | undefined
  for (let i = 0; i < discriminators.length; i++) {
    spendWork(check.work, DISCRIMINATOR_COST)
    const { type: kind, path } = discriminators[i]!
    candidate.found[i] ??= followPath(path, item, type, check)
    definition.values[i] ??= sliceValuesAt(definition.slice, path, check)
    const comparison = { found: candidate.found[i]!, values: definition.values[i]! }
    if (kind === 'profile') profiled.push(comparison)
    else answer = combined(answer, membershipBy(kind, comparison, definition.slice, check))
    if (answer === 'no') return 'no'
  }
  return profiled.length === 0 ? (answer ?? 'no') : areAsProfiled(profiled, answer, definition.slice, check)
}

function* areAsProfiled(
  comparisons: readonly Comparison[],
  others: SliceMembership | undefined,
  slice: ProfileNode,
  check: CheckContext,
): IncrementalCheck<SliceMembership> {
  let answer = others
  for (const comparison of comparisons) {
    const each: SliceMembership[] = []
    for (const item of comparison.found.items) each.push(yield* isAsProfiled(item, comparison, slice, check))
    answer = combined(answer, anyOf(comparison, each))
  }
  return answer ?? 'no'
}

/** Combines the results of two discriminators: an item must meet both. undefined: a discriminator without rules, which is ignored. */
function combined(one: SliceMembership | undefined, other: SliceMembership | undefined): SliceMembership | undefined {
  if (one === undefined || other === undefined) return one ?? other
  if (one === 'no' || other === 'no') return 'no'
  return one === 'yes' ? other : one
}

/** Returns `yes` if a trial check finds no error, `no` if it finds one, and `unknown` if a rule could not be decided. */
function* tried(check: CheckContext, against: (trial: CheckContext) => RemainingCheck): IncrementalCheck<SliceMembership> {
  const trial = trialOf(check)
  yield* against(trial) ?? NO_CHECKS
  const { faults } = trial
  if (faults.errors > 0) return 'no'
  return faults.undecided === undefined ? 'yes' : { unknown: faults.undecided }
}

/** Returns the result of one discriminator. undefined: the slice has no rules for it. */
function membershipBy(
  kind: Exclude<Discriminator['type'], 'profile'>,
  comparison: Comparison,
  slice: ProfileNode,
  check: CheckContext,
): SliceMembership | undefined {
  switch (kind) {
    case 'value':
    case 'pattern':
      return isLikely(hasExpectedValue(comparison.found, comparison.values, check), comparison)
    case 'exists':
      return isLikely(exists(comparison), comparison)
    case 'type':
      return anyOf(
        comparison,
        comparison.found.items.map((each) => isOfType(each, comparison, slice, check)),
      )
  }
}

/**
 * Returns the answer of a discriminator as membership. Returns `unknown` if there are no rules or items, and a profile or target that is
 * not available might change the answer.
 */
function isLikely(answer: boolean | Undecided | undefined, comparison: Comparison): SliceMembership | undefined {
  if (typeof answer === 'object') return answer
  const { items, isIncomplete } = comparison.found
  if (answer === undefined || items.length === 0) {
    const reason = answer === false ? (isIncomplete ? TARGET_MISSING : undefined) : unknownOf(comparison)
    if (reason !== undefined) return { unknown: reason }
  }
  return answer === undefined ? undefined : answer ? 'yes' : 'no'
}

function anyOf(comparison: Comparison, answers: readonly SliceMembership[]): SliceMembership {
  if (answers.includes('yes')) return 'yes'
  const reason = unknownOf(comparison)
  return answers.find((answer) => answer !== 'no') ?? (reason === undefined ? 'no' : { unknown: reason })
}

/** Returns why the slice may have further rules (a profile is not loaded), or the item further targets. undefined: neither is possible. */
function unknownOf({ found, values: { missing } }: Comparison): string | undefined {
  const [first] = missing
  return first !== undefined ? notLoaded(first) : found.isIncomplete ? TARGET_MISSING : undefined
}

const notLoaded = (canonical: string): string => `the profile ${clipText(canonical)} is not loaded`

/** Reason for a reference whose target is neither contained nor in the same Bundle. */
const TARGET_MISSING = 'what it refers to is not at hand'

function exists({ found: { items }, values: { nodes, isBarred } }: Comparison): boolean | undefined {
  if (isBarred || nodes.some(({ max }) => max === 0)) return items.length === 0
  return nodes.every(({ min }) => min === 0) ? undefined : items.length > 0
}

function isOfType(
  item: Item,
  { found: { type, isResolved }, values }: Comparison,
  slice: ProfileNode,
  check: CheckContext,
): SliceMembership {
  const types = values.nodes.flatMap((node) => node.types ?? [])
  const whether = (isSo: boolean): SliceMembership => (isSo ? 'yes' : 'no')
  if (types.length === 0)
    return whether(item.type !== undefined && item.type === choiceTypeOf((slice.slice ?? '').slice(slice.name.length)))
  const found = typeOfItem(item, item.type ?? type)
  if (!isResolved) return whether(types.some(({ code }) => code === found || code === 'Resource' || code === 'DomainResource'))
  const targets = types.flatMap(({ targetProfiles = [] }) => targetProfiles)
  const targetTypes = typesOfProfiles(targets, check)
  const [missing] = targetTypes.missing
  if (targets.length === 0 || targetTypes.types.has(found) || targetTypes.types.has('Resource')) return 'yes'
  return missing === undefined ? 'no' : { unknown: notLoaded(missing) }
}

/** Returns whether an item conforms to one of the profiles. If the target of a reference is not available, only its type can be checked. */
function* isAsProfiled(item: Item, comparison: Comparison, slice: ProfileNode, check: CheckContext): IncrementalCheck<SliceMembership> {
  const { isResolved, stubs, type: above } = comparison.found
  const types = comparison.values.nodes.flatMap((node) => node.types ?? [])
  const profiles = types.flatMap(({ profiles = [], targetProfiles = [] }) => (isResolved ? targetProfiles : profiles))
  if (profiles.length === 0) return isOfType(item, comparison, slice, check)
  const type = typeOfItem(item, item.type ?? above)
  if (!stubs.has(item.value)) return yield* tried(check, (trial) => check.again.oneOf(profiles, item, type, trial))
  const answer = isOfType(item, comparison, slice, check)
  return answer === 'yes' && !profiles.some((canonical) => r4TypeNameOf(canonical) === type) ? { unknown: TARGET_MISSING } : answer
}
