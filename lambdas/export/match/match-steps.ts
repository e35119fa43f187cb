/**
 * Steps of a match. Many steps decide the parts of the request. The last one stores the Group of the members that were found, and writes the
 * files. Each step has the same effect if it is repeated.
 */
import { writeJson } from '../../fhir/json.ts'
import { operationOutcomeOf } from '../../fhir/outcome.ts'
import type { Resource } from '../../fhir/resource.ts'
import { type DecidedMember, matchGroupsOf, matchParametersOf, storedConsentsOf } from '../../partners/bulk/found-match.ts'
import type { MatchContext, MatchRequest } from '../../partners/bulk/match-request.ts'
import { issuesOf, type MemberOutcome, outcomesOf, personOf, TOO_MANY_GUESSES, wasCompared } from '../../partners/bulk/member-outcomes.ts'
import { type DisclosedMember, writeDisclosures } from '../../partners/disclosures/disclosures.ts'
import { removeTemporaryData } from '../job/file-removal.ts'
import { type Job, segmentRowsOf } from '../job/job.ts'
import { changeJob, setComplete, setPlan } from '../job/job-transitions.ts'
import type { ExportParts } from '../step-types.ts'
import { storedMembersOf } from '../stored-members.ts'
import { writeWholeFile } from '../write/whole-file.ts'
import { hasAllParts, partCountOf, readRequestPart } from './request-parts.ts'

/** Job of a match. */
export type MatchJob = Job & { readonly match: MatchRequest }

export const isMatch = (job: Job): job is MatchJob => job.match !== undefined

/** Row of a part. `seen`: number of its members, for the progress. */
type DecidedPart = { readonly seen: number; readonly outcomes: readonly MemberOutcome[] }

const PLAN = 'part'
const nameOf = (part: number): string => `${PLAN}-${part}`
const partOf = (segment: string): number => Number(segment.slice(PLAN.length + 1))

/** Returns the names of the parts, or `unsettled` if the kick-off is still storing them. */
export async function planMatch(parts: ExportParts, job: MatchJob): Promise<readonly string[] | 'unsettled'> {
  const { members } = job.match
  if (!(await hasAllParts(parts.blobs, job, members, parts.now()))) return 'unsettled'
  await changeJob(parts.rows, job.id, setPlan(job.attempt, PLAN, members))
  return Array.from({ length: partCountOf(members) }, (_, part) => nameOf(part))
}

/**
 * Decides a part. Does not decide a part again, because the Group may contain its members. Returns false: the part needs no further slice.
 */
export async function decidePart(parts: ExportParts, job: MatchJob, segment: string): Promise<boolean> {
  const { rows, blobs } = parts
  if ((await rows.read(segmentRowsOf(job.id), segment)) !== undefined) return false
  const members = await readRequestPart(blobs, job.id, partOf(segment))
  const outcomes = await outcomesOf(await storedMembersOf(parts, job.tenant), members, contextOf(job))
  // guard: part-is-decided-once
  await rows.change<DecidedPart>(segmentRowsOf(job.id), segment, (decided) => decided ?? { seen: members.length, outcomes })
  return false
}

const contextOf = ({ match, client, transactionTime }: MatchJob): MatchContext => ({ ...match, partner: client, now: transactionTime })

/**
 * Stores the Consents and the Group, writes the files, and completes the job. The Group has the id of the job, so a repetition stores no
 * second one.
 */
export async function finishMatch(parts: ExportParts, job: MatchJob): Promise<void> {
  const members = await limitGuesses(parts, job, await readDecided(parts, job))
  const bases = await parts.readingOf(job.tenant)
  const groups = matchGroupsOf(members, contextOf(job), job.id, bases)
  const consents = storedConsentsOf(members, job.client, bases)
  await parts.storeMatch(job, { group: groups.matched, consents: distinct(consents) })
  const lines = Object.values(groups) as readonly Resource[]
  const errors = members.flatMap(({ sent }, i) => issuesOf(sent, i)).map((issue) => operationOutcomeOf([issue]))
  const write = (file: Parameters<typeof writeWholeFile>[2], resources: readonly Resource[]) =>
    writeWholeFile(parts.blobs, job, file, resources.map(writeJson))
  const files = [
    await write({ name: 'Group', kind: 'output', type: 'Group' }, lines),
    await write({ name: 'Parameters', kind: 'output', type: 'Parameters' }, [matchParametersOf(groups)]),
    ...(errors.length === 0 ? [] : [await write({ name: 'error', kind: 'error', type: 'OperationOutcome' }, errors)]),
  ]
  await recordMatch(parts, job, members, consents)
  const ended = await changeJob(parts.rows, job.id, setComplete(job.attempt, files, parts.now()))
  // Remove the request only after the job is complete: another attempt may need it until then.
  if (ended?.state === 'complete') await removeTemporaryData(parts, job.id)
}

/** Returns each Consent once. A partner may send a person several times with the same Consent. */
const distinct = (consents: readonly (Resource | undefined)[]): readonly Resource[] => [
  ...new Map(consents.flatMap((each) => (each === undefined ? [] : [[each.id, each]]))).values(),
]

/** Row of the withheld members. `positions`: their positions in the request. `seen`: 0, because the rows of the parts count the members. */
type WithheldMembers = { readonly seen: 0; readonly positions: readonly number[] }

const WITHHELD = 'withheld'

/**
 * Withholds members from a partner that guesses too often, and counts the members. All members of the request count before one is withheld,
 * so their order does not matter. The first attempt stores the withheld members, because a later attempt would count its own guesses again.
 */
async function limitGuesses(
  { rows, matchLimits }: ExportParts,
  { id, client, match }: MatchJob,
  decided: readonly DecidedMember[],
): Promise<readonly DecidedMember[]> {
  // guard: guesses-of-partners-only
  if (match.identifiers === undefined) return decided
  const compared = decided.flatMap(({ sent, outcome }, position) => {
    const person = wasCompared(outcome) ? personOf(sent) : undefined
    return person === undefined ? [] : [{ position, person, isMatched: outcome.kind === 'match' }]
  })
  const owner = segmentRowsOf(id)
  let withheld = await rows.read<WithheldMembers>(owner, WITHHELD)
  if (withheld === undefined) {
    const blocked = await matchLimits.blockedAmong(client, compared)
    const positions = blocked.map((i) => compared[i]!.position)
    withheld = (await rows.change<WithheldMembers>(owner, WITHHELD, (known) => known ?? { seen: 0, positions }))!
  }
  const hidden = new Set(withheld.positions)
  // A reported denial would also reveal that the card is correct.
  const members = decided.map((each, position) =>
    hidden.has(position) && each.outcome.kind !== 'nomatch' ? { ...each, outcome: TOO_MANY_GUESSES } : each,
  )
  const matched = members.filter(({ outcome }) => outcome.kind === 'match').length
  await matchLimits.count(client, { members: compared.length, matched, job: id })
  return members
}

/** Records the outcome of each member, with its stored Consent. Call it before the job is complete. Idempotent. */
function recordMatch(
  { disclosing }: ExportParts,
  { id, tenant, client, transactionTime: at }: MatchJob,
  members: readonly DecidedMember[],
  consents: readonly (Resource | undefined)[],
): Promise<void> {
  const grounds = [`Group/${id}`]
  const outcomes = members.map(({ outcome }, i): DisclosedMember => {
    if (outcome.kind === 'match')
      return { patient: `Patient/${outcome.patient}`, outcome: 'matched', grounds: [...grounds, `Consent/${consents[i]!.id}`] }
    const reason = outcome.reason ?? (outcome.kind === 'nomatch' ? 'no match' : 'consent not complied with')
    return { outcome: reason, ...(outcome.rule === undefined ? {} : { rule: outcome.rule }) }
  })
  return writeDisclosures(disclosing.blobs, { kind: 'match', at, tenant, job: id, partner: client, grounds }, outcomes)
}

async function readDecided({ rows, blobs }: ExportParts, { id, match }: MatchJob): Promise<readonly DecidedMember[]> {
  const members: DecidedMember[] = []
  for (let part = 0; part < partCountOf(match.members); part++) {
    const decided = await rows.read<DecidedPart>(segmentRowsOf(id), nameOf(part))
    // guard: match-needs-all-parts
    if (decided === undefined) throw new Error('A part of a match is not decided yet')
    for (const [i, sent] of (await readRequestPart(blobs, id, part)).entries()) members.push({ sent, outcome: decided.outcomes[i]! })
  }
  return members
}
