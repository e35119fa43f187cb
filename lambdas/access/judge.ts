/** Decides whether an access lets its caller read or write one version of a resource. Search indexes apply the same rules to searches. */
import type { ExpressionRunner } from '../ports/execution/expression-runner.ts'
import { isAlwaysFalse, isAlwaysTrue, type Predicate } from '../ports/search/plan.ts'
import type { IndexDocument } from '../ports/search/search-index.ts'
import type { ResourceKey, ResourceVersion } from '../ports/store/resource-store.ts'
import { matchesPredicate } from '../search/evaluate.ts'
import type { SearchContext } from '../search/search-context.ts'
import { type Access, type AccessClause, clausesFor } from './access.ts'
import { isWholeTenant, NON_PATIENT_TYPES, ruleFor, ruleOfClause } from './rules.ts'
import { matchesBody } from './scope-conditions.ts'
import type { Letter } from './scopes.ts'
import { securityContextOf } from './security-context.ts'

export type Judge = {
  readonly access: Access
  readonly reading: SearchContext
  readonly expressions: () => ExpressionRunner
  /** Returns the current version, regardless of the caller's access. */
  readonly current: (key: ResourceKey) => Promise<ResourceVersion | undefined>
}

/** Version to decide about: read from the store, or as a write would create it. */
export type CandidateVersion = ResourceVersion

type May = (judge: Judge, letter: Letter, version: CandidateVersion) => boolean | Promise<boolean>

/** Whether the version is visible under the letter. A deletion has no body, so a rule that needs the body hides it. */
export function maySee(judge: Judge, letter: Letter, version: CandidateVersion): boolean | Promise<boolean> {
  if (isWholeTenant(judge.access, letter)) return true
  const context = securityContextOf(version, judge.reading)
  if (context !== undefined) return mayInContext(judge, letter, version, context, maySee)
  const rule = ruleFor(judge.access, version.type, letter, judge.reading)
  if (rule === undefined || isAlwaysFalse(rule)) return false
  // guard: access-rule-is-evaluated
  return isAlwaysTrue(rule) || meets(judge, version, rule)
}

/** Whether the version is visible under each of the letters. */
export function maySeeWithLetters(judge: Judge, letters: readonly Letter[], version: CandidateVersion): boolean | Promise<boolean> {
  const may = letters.map((letter) => maySee(judge, letter, version))
  return may.some((each) => each instanceof Promise) ? Promise.all(may).then((all) => !all.includes(false)) : !may.includes(false)
}

/**
 * Whether one of the clauses allows the write: the version must match its rule. A clause for certain patients rejects resources in the
 * compartment of no patient, and resources that are also in that of another patient.
 */
export async function mayWrite(judge: Judge, letter: Letter, version: CandidateVersion): Promise<boolean> {
  if (isWholeTenant(judge.access, letter)) return true
  const context = securityContextOf(version, judge.reading)
  if (context !== undefined) return mayInContext(judge, letter, version, context, mayWrite)
  for (const clause of clausesFor(judge.access, version.type, letter)) {
    const rule = ruleOfClause(clause, version.type, judge.reading, judge.access.view)
    // guard: write-clause-is-about-the-patient
    if (!isAlwaysFalse(rule) && isOnlyAbout(clause, version) && (isAlwaysTrue(rule) || (await meets(judge, version, rule)))) return true
  }
  return false
}

/**
 * Whether a Binary with a security context is visible, or may be written. A clause for Binary must match it, apart from the patients of the
 * clause. `may` must also allow the letter for the current version of the context resource.
 */
async function mayInContext(
  judge: Judge,
  letter: Letter,
  version: CandidateVersion,
  context: ResourceKey | 'elsewhere',
  may: May,
): Promise<boolean> {
  const clauses = clausesFor(judge.access, version.type, letter)
  const rules = clauses.map(({ within: _, ...clause }) => ruleOfClause(clause, version.type, judge.reading, judge.access.view))
  const matches = await Promise.all(rules.map((rule) => !isAlwaysFalse(rule) && (isAlwaysTrue(rule) || meets(judge, version, rule))))
  if (context === 'elsewhere' || !matches.includes(true)) return false
  const head = await judge.current(context)
  // guard: version-needs-access
  return head !== undefined && !head.deleted && may(judge, letter, head)
}

// guard: resource-of-no-patient-is-not-written
const isOnlyAbout = ({ within }: AccessClause, { type, compartments }: CandidateVersion): boolean =>
  within === undefined ||
  (!NON_PATIENT_TYPES.has(type) && compartments.every((name) => !name.startsWith('Patient/') || within.includes(name)))

/** Whether the version matches the rule. Parses the body only if the rule tests more than compartments and ids, which most rules do not. */
function meets(judge: Judge, version: CandidateVersion, rule: Predicate): boolean | Promise<boolean> {
  if (needsKeyOnly(rule)) return matchesPredicate(rule, keyDocument(version))
  return version.deleted || version.body.length === 0 ? false : matchesBody(rule, version, judge.reading, judge.expressions)
}

function needsKeyOnly(p: Predicate): boolean {
  if (p.kind === 'all' || p.kind === 'some') return p.of.every(needsKeyOnly)
  return p.kind === 'compartment' || (p.kind === 'key' && p.field === ID)
}

const ID = '_id:code'

const keyDocument = ({ tenant, type, id, versionId, lastUpdated, deleted, compartments, body }: CandidateVersion): IndexDocument => ({
  ...{ tenant, type, id, version: versionId, lastUpdated, deleted, compartments, body, registry: 0 },
  ...{ keys: { [ID]: [id] }, spans: {}, numbers: {}, points: {}, tuples: {}, groups: {}, order: {}, present: [] },
})
