/** Decides for each member of a request whether it is a match. */
import { FhirError, type Issue } from '../../fhir/outcome.ts'
import type { Resource } from '../../fhir/resource.ts'
import { findDenials, isDeniedTo } from '../consent/permitted-members.ts'
import { storedConsentIdOf } from '../consent/stored-consent.ts'
import { findMembers } from '../match/find-member.ts'
import type { SentPerson } from '../match/match-rules.ts'
import { sentPersonOf } from '../match/member-input.ts'
import { type MemberData, readCurrent } from '../member-data.ts'
import type { BrokenRule, Unmatched } from '../outcomes.ts'
import type { SentMember } from './bulk-input.ts'
import type { MatchContext } from './match-request.ts'
import { type SentPermissions, sentPermissions } from './sent-permissions.ts'

/**
 * Outcome of a member. `patient`: id of the stored Patient. `until`: end of the permission, in milliseconds since 1970. `reason`: absent in
 * rows of an earlier release. `rule`: rule that the sent Consent breaks. Only the operator learns the reason and the rule.
 */
export type MemberOutcome =
  | { readonly kind: 'match'; readonly patient: string; readonly until: number }
  | { readonly kind: 'nomatch' | 'consentconstraint'; readonly reason?: Unmatched; readonly rule?: BrokenRule }

const noMatch = (reason: Unmatched): MemberOutcome => ({ kind: 'nomatch', reason })
const constrained = (reason: Unmatched): MemberOutcome => ({ kind: 'consentconstraint', reason })

/** Outcomes of members that the match did not compare with stored data. */
const NOT_COMPARED: ReadonlySet<Unmatched | undefined> = new Set(['consent not complied with', 'incomplete'] as const)

/** Whether the match compared the member with stored data, so that its outcome could reveal data of members. */
export const wasCompared = (outcome: MemberOutcome): boolean => outcome.kind === 'match' || !NOT_COMPARED.has(outcome.reason)

/** Outcome of a member whose person or card is blocked, because the partner guessed too often. */
export const TOO_MANY_GUESSES: MemberOutcome = noMatch('too many guesses')

/** Member whose Consent permits a disclosure and whose elements can be compared. */
type ComparedMember = { readonly index: number; readonly member: SentMember; readonly person: SentPerson; readonly until: number }

/**
 * Returns the outcomes in the order of the members. The Consent is judged first, so that a bad one reveals nothing about members. A bad
 * attestation of a provider has the same outcome as a stranger.
 */
export async function outcomesOf(
  data: MemberData,
  members: readonly SentMember[],
  context: MatchContext,
): Promise<readonly MemberOutcome[]> {
  const outcomes = members.map(() => noMatch('incomplete'))
  const consents = members.flatMap(({ consent, consentIssues }) => (consentIssues === undefined ? [consent] : []))
  const permissions = await sentPermissions(data, consents, context)
  const compared: ComparedMember[] = []
  for (const [index, member] of members.entries()) {
    const until = member.consentIssues === undefined ? permissions.permittedUntil(member.consent) : undefined
    const person = personOf(member)
    if (until === undefined) outcomes[index] = constrainedOutcomeOf(member, context, permissions)
    else if (person !== undefined) compared.push({ index, member, person, until })
  }
  const found = await findMembers(
    data,
    compared.map(({ person }) => person),
  )
  const matched = compared.flatMap((each, i): readonly MatchedMember[] => {
    const match = found[i]!
    if (match.kind === 'match') return [{ ...each, patient: match.patient.id! }]
    outcomes[each.index] = noMatch(match.kind === 'none' ? 'no match' : 'several candidates')
    return []
  })
  for (const [index, outcome] of await permittedOutcomes(data, matched, context, permissions)) outcomes[index] = outcome
  return outcomes
}

function constrainedOutcomeOf(
  { consent, consentIssues }: SentMember,
  { kind }: MatchContext,
  { brokenRuleOf }: SentPermissions,
): MemberOutcome {
  const rule = consentIssues === undefined ? brokenRuleOf(consent) : undefined
  const reason = { reason: 'consent not complied with', ...(rule === undefined ? {} : { rule }) } as const
  return { kind: kind === 'payer' ? 'consentconstraint' : 'nomatch', ...reason }
}

/** Member that was found. `patient`: id of the own Patient. */
type MatchedMember = ComparedMember & { readonly patient: string }

/** Returns the outcomes of found members, by position. A member that denied, or ended the stored Consent, is no match. */
async function permittedOutcomes(
  data: MemberData,
  matched: readonly MatchedMember[],
  context: MatchContext,
  { permittedUntil, providersOf, isTreated }: SentPermissions,
): Promise<ReadonlyMap<number, MemberOutcome>> {
  const { partner, settings, now } = context
  const denials = await findDenials(data, context, [...new Set(matched.map(({ patient }) => patient))], now)
  const ids = matched.map(({ member, patient }) => storedConsentIdOf(member.consent, { partner, patient }))
  const stored = await readCurrent(data, 'Consent', ids)
  const outcomeOf = ({ member, patient, until }: MatchedMember, consent: Resource | undefined): MemberOutcome => {
    // guard: treatment-is-listed
    if (!isTreated(member.consent, patient)) return noMatch('not treated')
    // guard: denial-of-member-counts-in-bulk
    if (isDeniedTo(denials, patient, providersOf(member.consent))) return (settings.reportOptOut ? constrained : noMatch)('denied')
    const left = consent === undefined ? until : permittedUntil(consent)
    // guard: revoked-consent-permits-nothing-in-bulk
    if (left === undefined) return noMatch('denied')
    return { kind: 'match', patient, until: Math.min(until, left) }
  }
  return new Map(matched.map((each, i) => [each.index, outcomeOf(each, stored[i])]))
}

/** Returns the person to find, or undefined if an element is missing that the match compares. */
export function personOf(member: SentMember): SentPerson | undefined {
  const read = readPerson(member, '')
  return 'person' in read ? read.person : undefined
}

/** Place of a member in the request, for the file of errors. */
const placeOf = (index: number): string => `MemberBundle[${index}]`

function readPerson({ patient, coverage }: SentMember, place: string) {
  try {
    return sentPersonOf({
      patient: { resource: patient, place: `${place}.MemberPatient` },
      coverage: { resource: coverage, place: `${place}.CoverageToMatch` },
    })
  } catch (error) {
    if (error instanceof FhirError) return { issues: error.issues }
    throw error
  }
}

/** Returns the issues of a member. They name elements, and contain no values. `index`: position in the request. */
export function issuesOf(member: SentMember, index: number): readonly Issue[] {
  const place = placeOf(index)
  const read = readPerson(member, place)
  const { length } = 'Consent'
  const ofConsent = (member.consentIssues ?? []).map(
    ({ text: _, expression = 'Consent', ...issue }): Issue => ({
      ...issue,
      text: 'The Consent violates R4',
      expression: `${place}.Consent${expression.slice(length)}`,
    }),
  )
  return [...('person' in read ? read.ignored : read.issues), ...ofConsent]
}
