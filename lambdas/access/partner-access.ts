/**
 * Access of a partner: another organization to which the server gives data of its members. Matches and exports give it the data of many
 * members, and a token with a member in context that of one. Otherwise scopes of a partner open no resources, except its own Groups.
 * https://hl7.org/fhir/us/davinci-pdex/
 */
import { type IdentifierText, identifierTextOf } from '../fhir/identifier-text.ts'
import type { Partner } from '../ports/rows/clients.ts'
import { type Access, type AccessClause, clausesFor } from './access.ts'
import { PARTNER_MARK_SYSTEM, partnerMarkOf } from './partner-mark.ts'
import { PARTNER_TYPES, REFERENCED_TYPES } from './partner-types.ts'
import type { Letter } from './scopes.ts'

const READ_LETTERS: readonly Letter[] = ['r', 's']

/** `client`: id of the partner's client. `scopes`: those of its token. */
type PartnerFacts = {
  readonly partner: Partner
  readonly client: string
  readonly scopes: readonly string[]
  readonly member?: string
}

/**
 * Returns the access of a partner. `granted`: access that the scopes of its token would give to another client. `member`: the patient in
 * context, as `Patient/1`.
 */
export function partnerAccessOf(granted: Access, { partner, client, scopes, member }: PartnerFacts): Access {
  const letters = READ_LETTERS.filter((letter) =>
    clausesFor(granted, 'Group', letter).some(({ query, within }) => query === '' && within === undefined),
  )
  const clause: AccessClause = { type: 'Group', letters, query: ownGroupsOf(partner, client) }
  return {
    clauses: [...(letters.length === 0 ? [] : [clause]), ...(member === undefined ? [] : memberClausesOf(granted, member))],
    isAdministrator: false,
    context: 'system',
    partner: { partner, exported: granted.clauses, operations: scopes.filter((scope) => scope.startsWith('http')) },
    view: partner.kind,
  }
}

/** Returns the clauses for the data of one member: those granted, for reading the types that partners receive. */
const memberClausesOf = ({ clauses }: Access, member: string): readonly AccessClause[] =>
  clauses.flatMap(({ type, letters, query, within }) => {
    // guard: member-is-of-the-granted-patients
    if (within?.includes(member) === false) return []
    const types = [...PARTNER_TYPES, ...REFERENCED_TYPES].filter((each) => type === '*' || type === each)
    const reading = letters.filter((letter) => READ_LETTERS.includes(letter))
    return types.map((each) => ({ type: each, letters: reading, query: aboutMember(each, query, member), within: [member] }))
  })

/** Types whose resources belong to the member by their id, or by their targets. */
const WITHOUT_SUBJECT: ReadonlySet<string> = new Set(['Patient', 'Provenance', ...REFERENCED_TYPES])

/**
 * Adds that the resource is about the member. Data about another patient may be in the compartment of the member too, such as a claim of a
 * child that is paid to a parent.
 */
function aboutMember(type: string, query: string, member: string): string {
  // guard: member-token-shows-no-data-about-others
  if (WITHOUT_SUBJECT.has(type)) return query
  return `${query}${query === '' ? '' : '&'}patient=${member}`
}

/**
 * Returns the criteria of a partner's own Groups: those whose members it matched, and those that the payer wrote for it. Groups of members
 * without consent are not among them, and neither are lists of who treats whom.
 */
const ownGroupsOf = ({ identifiers }: Partner, client: string): string =>
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
