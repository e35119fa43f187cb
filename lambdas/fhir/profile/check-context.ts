/** State and helpers that the parts of a profile check share. */
import type { Issue, IssueCode } from '../outcome.ts'
import type { WorkBudget } from '../path/work-budget.ts'
import { type Element, isElement } from '../resource.ts'
import { clipText } from './clipped-text.ts'
import type { DeferredRule, VerdictLookup } from './deferred-rules.ts'
import type { ExtensionVersions } from './extension-versions.ts'
import type { Item } from './items.ts'
import type { Library } from './library.ts'
import type { ProfileIssues } from './profile-issues.ts'
import type { ProfileNode, ProfileTree } from './profile-tree.ts'

export type CheckContext = {
  readonly library: Library
  readonly faults: ProfileIssues
  /** Profile whose rules are being checked. */
  readonly profile: ProfileTree
  /** Versions of extensions that the profiles of the resource name. For other extensions the newest version is used. */
  readonly extensions: ExtensionVersions
  /** `owner`: resource in which references such as `#id` are resolved. `root`: outermost resource. */
  readonly owner: Element
  readonly root: Element
  readonly work: WorkBudget
  readonly piece: PieceLimit
  /**
   * Deferred rules. `pending`: their verdicts only add issues. `deciding`: rules of trial checks; their verdicts decide which issues are
   * reported.
   */
  readonly pending: DeferredRule[]
  readonly deciding: DeferredRule[]
  readonly verdicts: VerdictLookup
  /** Values being checked, each with its profile. A repeated pair of value and profile ends a cycle of references. */
  readonly visiting: Visit | undefined
  readonly again: NestedChecks
}

/** Entry points of the check, for the parts that start a nested check. */
export type NestedChecks = {
  /** Checks the rules of a node for one item and for its content. */
  readonly content: (node: ProfileNode, item: Item, type: string, check: CheckContext) => RemainingCheck
  /** Reports issues unless the item conforms to at least one of the profiles. */
  readonly oneOf: (profiles: readonly string[], item: Item, type: string, check: CheckContext) => RemainingCheck
}

/** A check, or a part of it, that yields between two pieces so that other requests can run. */
export type IncrementalCheck<Result = void> = Generator<void, Result>

/** Remaining part of a check. The caller runs it before it continues. undefined: nothing remains. */
export type RemainingCheck = IncrementalCheck | undefined

/** Empty list for `yield*`, in place of an undefined remaining check. */
export const NO_CHECKS: readonly never[] = []

/** A value being checked against a profile. `above`: the enclosing visit. */
export type Visit = { readonly value: unknown; readonly tree: ProfileTree; readonly above: Visit | undefined }

/** Limit of the current piece. `until`: the piece ends when less work than this is left in the budget. */
export type PieceLimit = { until: number }

/** Work units of one piece, which takes some milliseconds. Visiting an element costs one unit. */
const PIECE = 2_000

export const pieceLimitOf = ({ left }: WorkBudget): PieceLimit => ({ until: left - PIECE })

/** Whether the current piece has used its work units (PIECE). If so, starts the next piece. */
export function isPieceOver({ work, piece }: Pick<CheckContext, 'work' | 'piece'>): boolean {
  if (work.left >= piece.until) return false
  piece.until = work.left - PIECE
  return true
}

/**
 * Returns the context of a trial check. Its issues stay apart, because the trial decides whether they are reported. Its deferred rules are
 * `deciding`.
 */
export const trialOf = (check: CheckContext): CheckContext => ({ ...check, faults: check.faults.apart(), pending: check.deciding })

export const profileLabelOf = ({ profile: { profile } }: Pick<CheckContext, 'profile'>): string =>
  clipText(profile.version === undefined ? profile.url : `${profile.url}|${profile.version}`)

export function report(check: CheckContext, code: IssueCode, rule: string, text: string, severity: Issue['severity'] = 'error'): void {
  check.faults.report(severity, code, rule, `${text} (${profileLabelOf(check)})`)
}

export function reportMissingProfile(canonical: string, { faults, library }: CheckContext): void {
  const reason = library.unusable?.(canonical)
  const name = clipText(canonical)
  if (reason === undefined)
    faults.report('information', 'not-supported', `not loaded ${name}`, `The profile ${name} is not loaded: it was not checked`)
  else faults.report('warning', 'not-supported', `not loaded ${name}`, `The profile ${name} cannot be used: ${reason}`)
}

export const nameOf = ({ name, slice, id }: ProfileNode): string => (slice === undefined ? (name === '' ? id : name) : `${name}:${slice}`)

export const typeOfItem = ({ value }: Item, type: string): string =>
  isElement(value) && typeof value.resourceType === 'string' ? value.resourceType : type

export function visitItem(item: Item, faults: ProfileIssues, visit: () => void): void {
  enterItem(item, faults)
  visit()
  leaveItem(item, faults)
}

export function enterItem({ index }: Item, faults: ProfileIssues): void {
  if (index !== undefined) faults.enter(index)
}

export function leaveItem({ index }: Item, faults: ProfileIssues): void {
  if (index !== undefined) faults.leave()
}

/**
 * Reports an issue if there are fewer items than the node requires. `valuesOf`: returns the values that an item must have to count, for the
 * message.
 */
export function checkMinimum(node: ProfileNode, count: number, check: CheckContext, valuesOf = () => ''): void {
  if (count >= node.min) return
  const having = valuesOf()
  const name = nameOf(node)
  const text = node.min === 1 ? `${name} is required` : `There must be at least ${node.min} ${name}`
  report(check, 'required', `min ${name}`, having === '' ? text : `${text}, with ${having}`)
}

/** Reports an issue if there are more items than the node allows. Enter the element first, so that the issue names its location. */
export function checkMaximum(node: ProfileNode, count: number, check: CheckContext): void {
  if (count <= node.max) return
  const name = nameOf(node)
  report(check, 'structure', `max ${name}`, node.max === 0 ? `${name} is not allowed` : `There may be at most ${node.max} ${name}`)
}
