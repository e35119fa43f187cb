/**
 * Access of a partner: another organization to which the server gives data of its members by matches and exports only. Scopes of a partner
 * therefore open no resources by themselves, except its own Groups. https://hl7.org/fhir/us/davinci-pdex/
 */
import { type IdentifierText, identifierTextOf } from '../fhir/identifier-text.ts'
import type { Partner } from '../ports/rows/clients.ts'
import { type Access, type AccessClause, clausesFor } from './access.ts'
import { PARTNER_MARK_SYSTEM, partnerMarkOf } from './partner-mark.ts'
import type { Letter } from './scopes.ts'

const GROUP_LETTERS: readonly Letter[] = ['r', 's']

/**
 * Returns the access of a partner. `granted`: access that the scopes of its token would give to another client.
 */
export function partnerAccessOf(granted: Access, partner: Partner, client: string): Access {
  const letters = GROUP_LETTERS.filter((letter) => clausesFor(granted, 'Group', letter).some(({ query }) => query === ''))
  const clause: AccessClause = { type: 'Group', letters, query: ownGroupsOf(partner, client) }
  return {
    clauses: letters.length === 0 ? [] : [clause],
    isAdministrator: false,
    context: 'system',
    partner: { partner, exported: granted.clauses },
  }
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
