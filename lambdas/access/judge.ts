/** Whether one version may be seen, or written, under an access: what indexes decide for searches, for single resources. */
import type { ExpressionRunner } from '../ports/expression-runner.ts'
import type { ResourceVersion } from '../ports/resource-store.ts'
import type { IndexDocument } from '../ports/search-index.ts'
import { evaluate } from '../search/evaluate.ts'
import { isAlways, isNever, type Predicate } from '../search/plan.ts'
import type { Reading } from '../search/reading.ts'
import { type Access, type Clause, clausesFor } from './access.ts'
import { meetsInside } from './granular.ts'
import { ABOUT_NOBODY, clauseRule, ruleFor } from './rules.ts'
import type { Letter } from './scopes.ts'

export type Judge = {
  readonly access: Access
  readonly reading: Reading
  readonly expressions: () => ExpressionRunner
}

/** A version that was read, or that a write would make. */
export type Judged = ResourceVersion

/** Of a deletion only its compartments are left to judge by. */
export function maySee(judge: Judge, letter: Letter, version: Judged): boolean | Promise<boolean> {
  const rule = ruleFor(judge.access, version.type, letter, judge.reading)
  if (rule === undefined || isNever(rule)) return false
  return isAlways(rule) || meets(judge, version, rule)
}

/**
 * Under some clause: what it asks for holds, and a clause about patients lets nothing be written that is about nobody, or about another
 * patient too.
 */
export async function mayWrite(judge: Judge, letter: Letter, version: Judged): Promise<boolean> {
  for (const clause of clausesFor(judge.access, version.type, letter)) {
    const rule = clauseRule(clause, version.type, judge.reading)
    if (!isNever(rule) && isOnlyAbout(clause, version) && (isAlways(rule) || (await meets(judge, version, rule)))) return true
  }
  return false
}

const isOnlyAbout = ({ within }: Clause, { type, compartments }: Judged): boolean =>
  within === undefined || (!ABOUT_NOBODY.has(type) && compartments.every((name) => !name.startsWith('Patient/') || within.includes(name)))

/** Most rules look at compartments and ids alone, which need no reading of the body. */
function meets(judge: Judge, version: Judged, rule: Predicate): boolean | Promise<boolean> {
  if (isOfKey(rule)) return evaluate(rule, keyDocument(version))
  return version.deleted || version.body.length === 0 ? false : meetsInside(rule, version, judge.reading, judge.expressions)
}

function isOfKey(p: Predicate): boolean {
  if (p.kind === 'all' || p.kind === 'some') return p.of.every(isOfKey)
  return p.kind === 'compartment' || (p.kind === 'key' && p.field === ID)
}

const ID = '_id:code'

const keyDocument = ({ tenant, type, id, versionId, lastUpdated, deleted, compartments, body }: Judged): IndexDocument => ({
  ...{ tenant, type, id, version: versionId, lastUpdated, deleted, compartments, body, registry: 0 },
  ...{ keys: { [ID]: [id] }, spans: {}, numbers: {}, points: {}, tuples: {}, groups: {}, order: {}, present: [] },
})
