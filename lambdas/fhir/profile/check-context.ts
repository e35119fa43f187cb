/** What goes along on a check of profiles. */
import type { Issue, IssueCode } from '../outcome.ts'
import type { WorkBudget } from '../path/work-budget.ts'
import { type Element, isElement } from '../resource.ts'
import { clipText } from './clipped-text.ts'
import type { DeferredRule, VerdictLookup } from './deferred-rules.ts'
import type { Item } from './items.ts'
import type { Library } from './library.ts'
import type { ProfileIssues } from './profile-issues.ts'
import type { ProfileNode, ProfileTree } from './profile-tree.ts'

export type CheckContext = {
  readonly library: Library
  readonly faults: ProfileIssues
  /** The profile that speaks. */
  readonly profile: ProfileTree
  /** The resource `#id` is looked up in, and the one that holds all. */
  readonly owner: Element
  readonly root: Element
  readonly work: WorkBudget
  readonly pace: PieceLimit
  /** Rules to be evaluated elsewhere, that count whatever comes of them; and those that decide what counts. */
  readonly pending: DeferredRule[]
  readonly deciding: DeferredRule[]
  readonly verdicts: VerdictLookup
  /** What is being checked, against which profiles: a circle of references ends there. */
  readonly visiting: Visit | undefined
  readonly again: NestedChecks
}

/** The check itself, for those parts of it that begin it anew. */
export type NestedChecks = {
  /** What is said of one item of an element, and of what it holds. */
  readonly content: (node: ProfileNode, item: Item, type: string, check: CheckContext) => RemainingCheck
  /** At least one of the profiles has to fit. */
  readonly oneOf: (profiles: readonly string[], item: Item, type: string, check: CheckContext) => RemainingCheck
}

/** A check, or a part of it, that stops between two pieces, so that others may pass. */
export type IncrementalCheck<Result = void> = Generator<void, Result>

/** What is left to be checked, by whoever has it, before anything else; undefined: nothing. */
export type RemainingCheck = IncrementalCheck | undefined

/** Where nothing is left. */
export const NO_CHECKS: readonly never[] = []

/** `above`: within which it is checked. */
export type Visit = { readonly value: unknown; readonly tree: ProfileTree; readonly above: Visit | undefined }

/** `until`: what is left of the work when the piece ends. */
export type PieceLimit = { until: number }

/** What is looked at in one piece: some milliseconds. */
const PIECE = 2_000

export const pieceLimitOf = ({ left }: WorkBudget): PieceLimit => ({ until: left - PIECE })

/** Whether a piece has ended; another begins. */
export function isPieceOver({ work, pace }: Pick<CheckContext, 'work' | 'pace'>): boolean {
  if (work.left >= pace.until) return false
  pace.until = work.left - PIECE
  return true
}

/** Of what may turn out not to matter. */
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

/** `valuesOf`: what makes an item one of these. */
export function checkMinimum(node: ProfileNode, count: number, check: CheckContext, valuesOf = () => ''): void {
  if (count >= node.min) return
  const having = valuesOf()
  const name = nameOf(node)
  const text = node.min === 1 ? `${name} is required` : `There must be at least ${node.min} ${name}`
  report(check, 'required', `min ${name}`, having === '' ? text : `${text}, with ${having}`)
}

/** Told where they are, that are too many. */
export function checkMaximum(node: ProfileNode, count: number, check: CheckContext): void {
  if (count <= node.max) return
  const name = nameOf(node)
  report(check, 'structure', `max ${name}`, node.max === 0 ? `${name} is not allowed` : `There may be at most ${node.max} ${name}`)
}
