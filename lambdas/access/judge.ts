/** Whether one version may be seen, or written, under an access: what indexes decide for searches, for single resources. */
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
  /** The head, whoever asks. */
  readonly current: (key: ResourceKey) => Promise<ResourceVersion | undefined>
}

/** A version that was read, or that a write would make. */
export type CandidateVersion = ResourceVersion

type May = (judge: Judge, letter: Letter, version: CandidateVersion) => boolean | Promise<boolean>

/** Of a deletion only its compartments are left to judge by. */
export function maySee(judge: Judge, letter: Letter, version: CandidateVersion): boolean | Promise<boolean> {
  if (isWholeTenant(judge.access, letter)) return true
  const context = securityContextOf(version, judge.reading)
  if (context !== undefined) return mayInContext(judge, letter, version, context, maySee)
  const rule = ruleFor(judge.access, version.type, letter, judge.reading)
  if (rule === undefined || isAlwaysFalse(rule)) return false
  // guard: access-rule-is-evaluated
  return isAlwaysTrue(rule) || meets(judge, version, rule)
}

/** Under each of the letters. */
export function maySeeWithLetters(judge: Judge, letters: readonly Letter[], version: CandidateVersion): boolean | Promise<boolean> {
  const may = letters.map((letter) => maySee(judge, letter, version))
  return may.some((each) => each instanceof Promise) ? Promise.all(may).then((all) => !all.includes(false)) : !may.includes(false)
}

/**
 * Under some clause: what it asks for holds, and a clause about patients lets nothing be written that is about nobody, or about another
 * patient too.
 */
export async function mayWrite(judge: Judge, letter: Letter, version: CandidateVersion): Promise<boolean> {
  if (isWholeTenant(judge.access, letter)) return true
  const context = securityContextOf(version, judge.reading)
  if (context !== undefined) return mayInContext(judge, letter, version, context, mayWrite)
  for (const clause of clausesFor(judge.access, version.type, letter)) {
    const rule = ruleOfClause(clause, version.type, judge.reading)
    // guard: write-clause-is-about-the-patient
    if (!isAlwaysFalse(rule) && isOnlyAbout(clause, version) && (isAlwaysTrue(rule) || (await meets(judge, version, rule)))) return true
  }
  return false
}

/** What has a security context is seen and written by who may do the same with that; whom its own clauses are about does not matter then. */
async function mayInContext(
  judge: Judge,
  letter: Letter,
  version: CandidateVersion,
  context: ResourceKey | 'elsewhere',
  may: May,
): Promise<boolean> {
  const clauses = clausesFor(judge.access, version.type, letter)
  const rules = clauses.map(({ within: _, ...clause }) => ruleOfClause(clause, version.type, judge.reading))
  const met = await Promise.all(rules.map((rule) => !isAlwaysFalse(rule) && (isAlwaysTrue(rule) || meets(judge, version, rule))))
  if (context === 'elsewhere' || !met.includes(true)) return false
  const head = await judge.current(context)
  // guard: version-needs-access
  return head !== undefined && !head.deleted && may(judge, letter, head)
}

// guard: resource-of-no-patient-is-not-written
const isOnlyAbout = ({ within }: AccessClause, { type, compartments }: CandidateVersion): boolean =>
  within === undefined ||
  (!NON_PATIENT_TYPES.has(type) && compartments.every((name) => !name.startsWith('Patient/') || within.includes(name)))

/** Most rules look at compartments and ids alone, which need no reading of the body. */
function meets(judge: Judge, version: CandidateVersion, rule: Predicate): boolean | Promise<boolean> {
  if (isOfKey(rule)) return matchesPredicate(rule, keyDocument(version))
  return version.deleted || version.body.length === 0 ? false : matchesBody(rule, version, judge.reading, judge.expressions)
}

function isOfKey(p: Predicate): boolean {
  if (p.kind === 'all' || p.kind === 'some') return p.of.every(isOfKey)
  return p.kind === 'compartment' || (p.kind === 'key' && p.field === ID)
}

const ID = '_id:code'

const keyDocument = ({ tenant, type, id, versionId, lastUpdated, deleted, compartments, body }: CandidateVersion): IndexDocument => ({
  ...{ tenant, type, id, version: versionId, lastUpdated, deleted, compartments, body, registry: 0 },
  ...{ keys: { [ID]: [id] }, spans: {}, numbers: {}, points: {}, tuples: {}, groups: {}, order: {}, present: [] },
})
