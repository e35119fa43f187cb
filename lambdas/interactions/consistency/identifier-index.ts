/**
 * Index for conditional interactions by identifier. It reads identifier rows and current versions from the store, so it needs no search
 * index and misses no commit. Searches that the rows cannot decide use another index. https://hl7.org/fhir/R4/http.html#cond-update
 */
import type { Clock } from '../../ports/execution/clock.ts'
import { comparePositions, type Plan } from '../../ports/search/plan.ts'
import { decorateSearches, type Hit, type HitPage, type Searches } from '../../ports/search/search-index.ts'
import type { IdentifierRow, IdentifierRows } from '../../ports/store/identifier-rows.ts'
import type { ResourceReader, ResourceVersion } from '../../ports/store/resource-store.ts'
import { hasIdentifier, identifierCriteriaOf } from '../../search/documents/identifiers.ts'
import { nameOf } from '../resources/request-key.ts'
import { checkVersions, type EvaluatedVersion, type EvaluationParts, evaluateVersions, hitOf } from './evaluated-versions.ts'

export type IdentifierIndexParts = EvaluationParts & {
  /** Index for all other searches. */
  readonly index: Searches
  readonly rows: Pick<IdentifierRows, 'carrying' | 'forget'>
  readonly resources: Pick<ResourceReader, 'heads'>
  readonly clock: Clock
  /** Whether every identifier of a type's resources has its row. */
  readonly haveRows: (type: string) => Promise<boolean>
  /** Receives the error if outdated rows could not be checked or removed. A row left over costs each search for its value one more read. */
  readonly report: (error: unknown) => void
}

/** Maximum rows of a search. A search with more uses the other index. */
const MAX_ROWS = 1_000
/** Rows that a search with more than MAX_ROWS checks, to remove those that are left over. Each costs a read unit or more. */
const CHECKED_ROWS = 20
/** Maximum versions that are read at once, because a version may be large. */
const AT_ONCE = 50
/**
 * Minimum age in milliseconds of rows that are removed if their resource does not have the value. A younger one may belong to a commit in
 * progress.
 */
const OUTDATED = 60 * 60_000

export function identifierIndex(parts: IdentifierIndexParts): Searches {
  const { index } = parts
  return {
    ...decorateSearches(index, {}),
    find: async (plan) => (await findByRows(parts, plan)) ?? index.find(plan),
  }
}

/** Returns undefined if the rows cannot decide the search. */
async function findByRows(parts: IdentifierIndexParts, plan: Plan): Promise<HitPage | undefined> {
  const { haveRows } = parts
  const [type, ...others] = plan.types
  const [criteria] = identifierCriteriaOf(plan.where).toSorted((a, b) => a.length - b.length)
  if (type === undefined || others.length > 0 || criteria === undefined || plan.after !== undefined) return undefined
  // The other index rejects the search if it lags too far. The lookups of the chain do not.
  if (plan.isChained === true) return undefined
  if (!(await haveRows(type))) return undefined
  const readRows = () => parts.rows.carrying({ tenant: plan.tenant, type }, criteria, MAX_ROWS)
  const rows = await readRows()
  if (rows.length > MAX_ROWS) {
    await checkSomeRows(parts, plan.tenant, rows).catch(parts.report)
    return undefined
  }
  const versions = await currentVersions(parts, plan.tenant, rows)
  if (versions === undefined) return undefined
  // A transaction may have moved the identifier to another resource after the rows were read.
  // guard: identifier-moved-between-reads
  if (rows.some(isOutdated(versions)) && hasOthers(await readRows(), rows)) return findByRows(parts, plan)
  checkVersions(plan, [...versions.values()])
  await forgetOutdated(parts, rows, versions)
  const hits: readonly Hit[] = [...versions.values()]
    .flatMap((each) => hitOf(each, plan))
    .toSorted((a, b) => comparePositions(a.position, b.position, plan.order))
  return { hits: hits.slice(0, plan.limit), more: hits.length > plan.limit, isCurrent: true }
}

/** Returns the current versions of the resources by name, or undefined if one is damaged: only the index knows its values. */
async function currentVersions(
  parts: IdentifierIndexParts,
  tenant: string,
  rows: readonly IdentifierRow[],
): Promise<ReadonlyMap<string, EvaluatedVersion> | undefined> {
  const keys = [...new Map(rows.map(({ key }) => [key.id, key])).values()]
  const found = new Map<string, EvaluatedVersion>()
  for (let at = 0; at < keys.length; at += AT_ONCE) {
    const versions: ResourceVersion[] = []
    for (const head of await parts.resources.heads(keys.slice(at, at + AT_ONCE))) {
      if (head === undefined) continue
      if ('damage' in head) return undefined
      versions.push(head)
    }
    for (const each of await evaluateVersions(parts, tenant, versions)) found.set(each.name, each)
  }
  return found
}

/** Removes old rows among CHECKED_ROWS consecutive ones. The time selects the first one, so that searches check different rows. */
async function checkSomeRows(parts: IdentifierIndexParts, tenant: string, rows: readonly IdentifierRow[]): Promise<void> {
  const first = parts.clock.now() % rows.length
  const some = [...rows.slice(first), ...rows.slice(0, first)].slice(0, CHECKED_ROWS)
  const versions = await currentVersions(parts, tenant, some)
  if (versions !== undefined) await forgetOutdated(parts, some, versions)
}

/** Whether the current version of the row's resource lacks the value. */
const isOutdated =
  (versions: ReadonlyMap<string, EvaluatedVersion>) =>
  ({ key, criterion }: IdentifierRow): boolean => {
    const document = versions.get(nameOf(key))?.document
    return document === undefined || !hasIdentifier(document, criterion)
  }

const hasOthers = (rows: readonly IdentifierRow[], before: readonly IdentifierRow[]): boolean => {
  const known = new Set(before.map(({ row }) => row))
  return rows.some(({ row }) => !known.has(row))
}

/** Removes old rows of resources that no longer have the value. */
async function forgetOutdated(
  { rows: stored, clock, report }: IdentifierIndexParts,
  rows: readonly IdentifierRow[],
  versions: ReadonlyMap<string, EvaluatedVersion>,
): Promise<void> {
  const before = clock.now() - OUTDATED
  const outdated = rows.filter((each) => each.written < before && isOutdated(versions)(each))
  if (outdated.length > 0) await stored.forget(outdated).catch(report)
}
