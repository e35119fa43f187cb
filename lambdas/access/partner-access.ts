/**
 * Access of a partner: another organization to which the server gives data of members. It receives the data of many members by matches and
 * exports, and the data of one member by a token with this member in context. Otherwise its scopes open only its own Groups.
 * https://hl7.org/fhir/us/davinci-pdex/
 */
import { type IdentifierText, identifierTextOf } from '../fhir/identifier-text.ts'
import type { Partner } from '../ports/rows/clients.ts'
import { CLINICAL_DATES } from '../search/clinical-dates.ts'
import { type Access, type AccessClause, clausesFor, type MemberLimits } from './access.ts'
import { PARTNER_MARK_SYSTEM, partnerMarkOf } from './partner-mark.ts'
import { PARTNER_TYPES, REFERENCED_TYPES } from './partner-types.ts'
import type { Letter } from './scopes.ts'

const READ_LETTERS: readonly Letter[] = ['r', 's']

/** Member in context. `name`: reference to its Patient, such as `Patient/1`. */
export type MemberContext = { readonly name: string; readonly limits: MemberLimits }

/** `client`: id of the partner's client. `scopes`: scopes of its token. */
type PartnerFacts = {
  readonly partner: Partner
  readonly client: string
  readonly scopes: readonly string[]
  readonly member?: MemberContext
}

/** Returns the access of a partner. `granted`: access that the scopes of its token would give to another client. */
export function partnerAccessOf(granted: Access, { partner, client, scopes, member }: PartnerFacts): Access {
  const letters = READ_LETTERS.filter((letter) =>
    clausesFor(granted, 'Group', letter).some(({ query, within }) => query === '' && within === undefined),
  )
  const clause: AccessClause = { type: 'Group', letters, query: ownGroupsOf(partner, client) }
  return {
    clauses: [...(letters.length === 0 ? [] : [clause]), ...(member === undefined ? [] : memberClausesOf(granted, member))],
    isAdministrator: false,
    context: 'system',
    partner: {
      ...{ partner, exported: granted.clauses, operations: scopes.filter((scope) => scope.startsWith('http')) },
      ...(member === undefined ? {} : { limits: member.limits }),
    },
    view: partner.kind,
  }
}

/**
 * Returns the clauses for the data of one member. They permit only reads and searches of the types that partners receive, within the
 * granted clauses. Searches find no resource of a listed type until `withSearchable` lists the ids.
 */
const memberClausesOf = ({ clauses }: Access, { name, limits }: MemberContext): readonly AccessClause[] =>
  clauses.flatMap(({ type, letters, query, within }) => {
    // guard: member-is-of-the-granted-patients
    if (within?.includes(name) === false) return []
    const types = [...PARTNER_TYPES, ...REFERENCED_TYPES].filter((each) => type === '*' || type === each)
    const reading = READ_LETTERS.filter((letter) => letters.includes(letter))
    return types.flatMap((each): readonly AccessClause[] => {
      const criteria = [query, ...aboutMember(each, name), ...withoutLabels(limits)].filter((text) => text !== '')
      const clause = { type: each, letters: reading, query: criteria.join('&'), within: [name] }
      if (!LISTED_PARTNER_TYPES.includes(each) || !reading.includes('s')) return [clause]
      return [
        { ...clause, letters: reading.filter((letter) => letter !== 's') },
        { ...clause, letters: ['s'], ids: [] },
      ]
    })
  })

/**
 * Types of a member's data for which the index cannot decide what a partner receives: types with a time window, and Provenance, which may
 * name other patients.
 */
export const LISTED_PARTNER_TYPES: readonly string[] = PARTNER_TYPES.filter(
  (type) => CLINICAL_DATES[type] !== undefined || type === 'Provenance',
)

/** Returns the access of a partner whose searches find only these resources of listed types. `ids`: resource ids by type. */
export const withSearchable = (access: Access, ids: ReadonlyMap<string, readonly string[]>): Access => ({
  ...access,
  clauses: access.clauses.map((clause) => (clause.ids === undefined ? clause : { ...clause, ids: ids.get(clause.type) ?? [] })),
})

/** Returns the search criteria that exclude data with sensitive labels. */
const withoutLabels = ({ excluded }: MemberLimits): readonly string[] =>
  excluded.length === 0 ? [] : [`_security:not=${excluded.map(encodeURIComponent).join(',')}`]

/** Types whose resources belong to the member by their id or by their targets, so that a criterion on the subject is not needed. */
const WITHOUT_SUBJECT: ReadonlySet<string> = new Set(['Patient', 'Provenance', ...REFERENCED_TYPES])

/**
 * Returns the search criterion that a resource is about the member. The compartment of a member may also contain data about another
 * patient, such as a claim of a child that is paid to a parent.
 */
function aboutMember(type: string, member: string): readonly string[] {
  // guard: member-token-shows-no-data-about-others
  if (WITHOUT_SUBJECT.has(type)) return []
  return [`patient=${member}`]
}

/**
 * Returns the criteria of a partner's own Groups: those whose members it matched, and those that the payer wrote for it. Groups of members
 * without consent are not among them, and neither are lists of who treats whom.
 */
export const ownGroupsOf = ({ identifiers }: Partner, client: string): string =>
  [
    `identifier=${[{ system: PARTNER_MARK_SYSTEM, value: partnerMarkOf(client) }, ...identifiers].map(tokenOf).join(',')}`,
    `code:not=${encodeURIComponent(`${MATCH_RESULTS}|consentconstraint`)}`,
    `characteristic:not=${encodeURIComponent(`${ATTRIBUTIONS}|pdex-member`)}`,
  ].join('&')

const GUIDE = 'http://hl7.org/fhir/us/davinci-pdex/CodeSystem'
const MATCH_RESULTS = `${GUIDE}/PdexMultiMemberMatchResultCS`
const ATTRIBUTIONS = `${GUIDE}/PdexMemberAttributionCS`

/** Registered identifiers contain none of the characters that separate values. */
const tokenOf = (identifier: IdentifierText): string => encodeURIComponent(identifierTextOf(identifier))
