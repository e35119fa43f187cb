/**
 * Checks a resource against profiles. The validator checks the structure that R4 requires before. https://hl7.org/fhir/R4/profiling.html
 */
import { withArticle } from '../../article.ts'
import { spendWork, TooCostly, type WorkBudget } from '../../path/work-budget.ts'
import { isElement, type Resource } from '../../resource.ts'
import { IssueLimitReached } from '../../validate/findings.ts'
import { r4TypeNameOf } from '../canonical.ts'
import {
  type CheckContext,
  checkMaximum,
  checkMinimum,
  enterItem,
  type IncrementalCheck,
  isPieceOver,
  leaveItem,
  NO_CHECKS,
  pieceLimitOf,
  type RemainingCheck,
  report,
  reportMissingProfile,
  trialOf,
  typeOfItem,
  type Visit,
} from '../check-context.ts'
import type { DeferredRule, VerdictLookup } from '../deferred-rules.ts'
import type { ProfileType } from '../definition.ts'
import { extensionVersionsOf } from '../extension-versions.ts'
import { type Item, itemOf, itemsOf } from '../items.ts'
import type { Library } from '../library.ts'
import { ProfileIssues } from '../profile-issues.ts'
import { contentOf, type ProfileNode, type ProfileTree, treeOf } from '../profile-tree.ts'
import { isKindOf, typeOfElement } from '../type-elements.ts'
import { checkBinding } from './binding.ts'
import { checkConstraint } from './constraint.ts'
import { checkTargets } from './reference-target.ts'
import { checkSlices } from './slices.ts'
import { checkUniversalRules } from './universal-checks.ts'
import { checkValue } from './value-rules.ts'

/** Checks an item against a profile, or reports that the profile is for another type. `type`: FHIR type of the item. */
function checkAs(tree: ProfileTree, item: Item, type: string, check: CheckContext): RemainingCheck {
  const about = tree.profile.type
  if (!isKindOf(type, about)) {
    report({ ...check, profile: tree }, 'structure', 'about', `The profile is about ${about}, and this is ${withArticle(type)}`)
    return undefined
  }
  const { value } = item
  if (isVisited(check.visiting, value, tree)) return undefined
  return checkContent(tree.root, item, type, { ...check, profile: tree, visiting: { value, tree, above: check.visiting } })
}

function isVisited(visiting: Visit | undefined, value: unknown, tree: ProfileTree): boolean {
  for (let visit = visiting; visit !== undefined; visit = visit.above) if (visit.value === value && visit.tree === tree) return true
  return false
}

/** Checks the rules of a node for one item and for its content. */
function checkContent(node: ProfileNode, item: Item, type: string, check: CheckContext): RemainingCheck {
  spendWork(check.work, 1)
  checkValue(node, item, type, check)
  if (node.binding !== undefined) checkBinding(node.binding, item, type, check)
  const types = typesFor(node, type)
  const rest = types.length === 0 ? undefined : checkTypes(types, item, type, check)
  return isLeaf(node) ? rest : contentInPieces(node, rest, item, type, check)
}

/** Whether the node has no rules for the content of its items. */
const isLeaf = ({ rules, constraints, content }: ProfileNode): boolean =>
  rules.length === 0 && constraints.size === 0 && content === undefined

function* contentInPieces(node: ProfileNode, rest: RemainingCheck, item: Item, type: string, check: CheckContext): IncrementalCheck {
  if (rest !== undefined) yield* rest
  yield* checkInPieces(node, item, type, check)
  const content = contentOf(node, check.profile, check.library.tree)
  if (content !== undefined && content.node !== node) yield* checkInPieces(content.node, item, type, { ...check, profile: content.tree })
}

/** Checks the constraints, children and slices that a node declares for the content of an item. */
function* checkInPieces(node: ProfileNode, item: Item, type: string, check: CheckContext): IncrementalCheck {
  for (const constraint of node.constraints.values()) {
    checkConstraint(constraint, item, type, check)
    if (isPieceOver(check)) yield
  }
  for (const child of node.rules) {
    const items = itemsOf(item, child.name, child.isChoice)
    checkMinimum(child, items.length, check)
    if (items.length > 0) yield* checkItems(child, items, typeOfElement(type, child.name), check)
    if (child.slices.size > 0) yield* checkSlices(child, items, typeOfElement(type, child.name), check)
  }
}

/** Checks the maximum number of items, and each item. `type`: type of the element, unless it is a choice. */
function* checkItems(node: ProfileNode, items: readonly Item[], type: string, check: CheckContext): IncrementalCheck {
  check.faults.enter(node.name)
  checkMaximum(node, items.length, check)
  for (const item of items) {
    if (isPieceOver(check)) yield
    enterItem(item, check.faults)
    yield* checkContent(node, item, item.type ?? typeOfItem(item, type), within(item, node, check)) ?? NO_CHECKS
    leaveItem(item, check.faults)
  }
  check.faults.leave()
}

const NO_TYPES: readonly ProfileType[] = []

/**
 * Returns the allowed types that match the item, if one of them requires a profile. Otherwise returns none. Extensions have none: each is
 * checked against its own definition.
 */
function typesFor({ types = NO_TYPES }: ProfileNode, type: string): readonly ProfileType[] {
  if (types.length === 0 || type === 'Extension') return NO_TYPES
  // An item of another type is already reported.
  if (types.length === 1 && !isKindOf(type, types[0]!.code)) return NO_TYPES
  const matchingTypes = types.length === 1 ? types : types.filter(({ code }) => code === type)
  return matchingTypes.some(({ profiles, targetProfiles }) => profiles !== undefined || targetProfiles !== undefined)
    ? matchingTypes
    : NO_TYPES
}

/**
 * Checks the target of a reference, and that the item conforms to one of the required profiles. `types`: allowed types that match the item.
 */
function checkTypes(types: readonly ProfileType[], item: Item, type: string, check: CheckContext): RemainingCheck {
  const targets = type === 'Reference' ? types.flatMap(({ targetProfiles = [] }) => targetProfiles) : []
  const rest = checkTargets(targets, item, check)
  const profiles = types.flatMap(({ profiles = [] }) => profiles)
  if (profiles.length === 0) return rest
  return rest === undefined ? checkOneOf(profiles, item, type, check) : alsoOneOf(rest, profiles, item, type, check)
}

function* alsoOneOf(rest: IncrementalCheck, profiles: readonly string[], item: Item, type: string, check: CheckContext): IncrementalCheck {
  yield* rest
  yield* checkOneOf(profiles, item, type, check) ?? NO_CHECKS
}

/**
 * Reports issues unless at least one of the profiles fits. If none fits, reports the issues of the profile with the fewest errors. A
 * profile that is not loaded might fit: then reports only that it is missing.
 */
const checkOneOf = (profiles: readonly string[], item: Item, type: string, check: CheckContext): RemainingCheck =>
  profiles.length === 1 ? checkOnly(profiles[0]!, item, type, check) : checkEach(profiles, item, type, check)

function checkOnly(canonical: string, item: Item, type: string, check: CheckContext): RemainingCheck {
  if (r4TypeNameOf(canonical) === type) return undefined
  const tree = check.library.tree(canonical)
  if (tree !== undefined) return checkAs(tree, item, type, check)
  reportMissingProfile(canonical, check)
  return undefined
}

function* checkEach(profiles: readonly string[], item: Item, type: string, check: CheckContext): IncrementalCheck {
  let best: ProfileIssues | undefined
  const missing: string[] = []
  for (const canonical of profiles) {
    if (r4TypeNameOf(canonical) === type) return
    const tree = check.library.tree(canonical)
    if (tree === undefined) {
      missing.push(canonical)
      continue
    }
    const trial = trialOf(check)
    yield* checkAs(tree, item, type, trial) ?? NO_CHECKS
    if (best === undefined || trial.faults.errors < best.errors) best = trial.faults
    if (best.errors === 0) break
  }
  if (missing.length > 0 && best?.errors !== 0) {
    for (const canonical of missing) reportMissingProfile(canonical, check)
    return
  }
  if (best !== undefined) check.faults.add(best)
}

/**
 * Returns the context for an item. A contained resource resolves references in its container. Any other nested resource, as in a Bundle
 * entry, resolves them in itself.
 */
const within = ({ value }: Item, { name }: ProfileNode, check: CheckContext): CheckContext =>
  isElement(value) && typeof value.resourceType === 'string' && name !== 'contained' ? { ...check, owner: value } : check

/**
 * Checks a resource against `profiles`, and against the rules for every element and extension. The library records the definitions that it
 * lacks. A check that exceeds `work` reports an issue `too-costly` instead of throwing.
 */
export function* checkProfiles(
  resource: Resource,
  profiles: readonly ProfileTree[],
  library: Library,
  work: WorkBudget,
  verdicts = UNASKED,
): IncrementalCheck<CheckResult> {
  const { resourceType } = resource
  const [faults, pending, deciding] = [new ProfileIssues([resourceType]), [] as DeferredRule[], [] as DeferredRule[]]
  const check: CheckContext = {
    library,
    faults,
    profile: NO_RULES,
    extensions: extensionVersionsOf(profiles),
    owner: resource,
    root: resource,
    work,
    piece: pieceLimitOf(work),
    pending,
    deciding,
    verdicts,
    visiting: undefined,
    again: { content: checkContent, oneOf: checkOneOf },
  }
  try {
    for (const profile of profiles) yield* checkAs(profile, itemOf(resource), resourceType, check) ?? NO_CHECKS
    yield* checkUniversalRules(resource, check, checkAs)
  } catch (error) {
    if (error instanceof TooCostly || error instanceof RangeError) faults.reportAt(resourceType, COSTLY, 'too-costly')
    else if (!(error instanceof IssueLimitReached)) throw error
  }
  return { faults, pending, deciding }
}

const UNASKED: VerdictLookup = { of: () => undefined, severity: 'warning' }

const COSTLY = { severity: 'error', code: 'too-costly', text: 'The profiles are too costly to check on this resource' } as const

/** Profile without rules, for the context before a profile is checked. */
const NO_RULES = treeOf({ url: 'http://hl7.org/fhir/StructureDefinition/Resource', type: 'Resource', isWhole: true, elements: [] })

/**
 * Result of a check. `pending`: deferred rules whose verdicts only add issues. `deciding`: deferred rules that decide which issues are
 * reported; evaluate them, then repeat the check with their verdicts.
 */
export type CheckResult = {
  readonly faults: ProfileIssues
  readonly pending: readonly DeferredRule[]
  readonly deciding: readonly DeferredRule[]
}
