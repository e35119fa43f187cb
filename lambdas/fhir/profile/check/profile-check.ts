/** Whether an item is as a profile says: what R4 says of its type is checked before. https://hl7.org/fhir/R4/profiling.html */
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

/** Only where the profile is about that type. `type`: the FHIR type of the item. */
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

/** What is said of one item of an element, and of what it holds. */
function checkContent(node: ProfileNode, item: Item, type: string, check: CheckContext): RemainingCheck {
  spendWork(check.work, 1)
  checkValue(node, item, type, check)
  if (node.binding !== undefined) checkBinding(node.binding, item, type, check)
  const types = typesFor(node, type)
  const rest = types.length === 0 ? undefined : checkTypes(types, item, type, check)
  return isLeaf(node) ? rest : contentInPieces(node, rest, item, type, check)
}

/** Of its items nothing is said but of themselves. */
const isLeaf = ({ saying, constraints, content }: ProfileNode): boolean =>
  saying.length === 0 && constraints.size === 0 && content === undefined

function* contentInPieces(node: ProfileNode, rest: RemainingCheck, item: Item, type: string, check: CheckContext): IncrementalCheck {
  if (rest !== undefined) yield* rest
  yield* saidInPieces(node, item, type, check)
  const content = contentOf(node, check.profile, check.library.tree)
  if (content !== undefined && content.node !== node) yield* saidInPieces(content.node, item, type, { ...check, profile: content.tree })
}

/** Checks the constraints, children and slices that an element declares for its content. */
function* saidInPieces(said: ProfileNode, item: Item, type: string, check: CheckContext): IncrementalCheck {
  for (const constraint of said.constraints.values()) {
    checkConstraint(constraint, item, type, check)
    if (isPieceOver(check)) yield
  }
  for (const child of said.saying) {
    const items = itemsOf(item, child.name, child.isChoice)
    checkMinimum(child, items.length, check)
    if (items.length > 0) yield* checkItems(child, items, typeOfElement(type, child.name), check)
    if (child.slices.size > 0) yield* checkSlices(child, items, typeOfElement(type, child.name), check)
  }
}

/** Each item of an element. `type`: of the element, unless it is a choice. */
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

/** Those that ask for profiles. Each extension is checked against its definition, wherever it stands. */
function typesFor({ types = NO_TYPES }: ProfileNode, type: string): readonly ProfileType[] {
  if (types.length === 0 || type === 'Extension') return NO_TYPES
  // What is of another type is told of once.
  if (types.length === 1 && !isKindOf(type, types[0]!.code)) return NO_TYPES
  const ofType = types.length === 1 ? types : types.filter(({ code }) => code === type)
  return ofType.some(({ profiles, targetProfiles }) => profiles !== undefined || targetProfiles !== undefined) ? ofType : NO_TYPES
}

/** What a reference may refer to; and the profiles of its type: one of them has to fit. `types`: those that ask for profiles. */
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

/** At least one of the profiles has to fit; where none does, those faults are told that are fewest. One that is not loaded might. */
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

/** What is contained points to what its owner holds; the resource of an entry is its own owner. */
const within = ({ value }: Item, { name }: ProfileNode, check: CheckContext): CheckContext =>
  isElement(value) && typeof value.resourceType === 'string' && name !== 'contained' ? { ...check, owner: value } : check

/**
 * `profiles`: those the resource is to be as. What is looked up and not there is told to the library. Never throws: what takes more than the
 * work is an issue `too-costly`.
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
    profile: NOBODY,
    owner: resource,
    root: resource,
    work,
    pace: pieceLimitOf(work),
    pending,
    deciding,
    verdicts,
    visiting: undefined,
    again: { content: checkContent, oneOf: checkOneOf },
  }
  try {
    for (const profile of profiles) yield* checkAs(profile, itemOf(resource), resourceType, check) ?? NO_CHECKS
    yield* checkUniversalRules(resource, check, checkAs)
  } catch (thrown) {
    if (thrown instanceof TooCostly || thrown instanceof RangeError) faults.reportAt(resourceType, COSTLY, 'too-costly')
    else if (!(thrown instanceof IssueLimitReached)) throw thrown
  }
  return { faults, pending, deciding }
}

const UNASKED: VerdictLookup = { of: () => undefined, severity: 'warning' }

const COSTLY = { severity: 'error', code: 'too-costly', text: 'The profiles are too costly to check on this resource' } as const

/** Where no profile speaks. */
const NOBODY = treeOf({ url: 'http://hl7.org/fhir/StructureDefinition/Resource', type: 'Resource', isWhole: true, elements: [] })

/** `deciding`: rules to be evaluated elsewhere, of which hangs what counts: the check is to be made again with what comes of them. */
export type CheckResult = {
  readonly faults: ProfileIssues
  readonly pending: readonly DeferredRule[]
  readonly deciding: readonly DeferredRule[]
}
