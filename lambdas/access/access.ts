/**
 * Access of a request: the resources that its caller may see and change. Every interaction receives one, and rejects what it does not
 * grant. https://hl7.org/fhir/smart-app-launch/scopes-and-launch-context.html
 */
import type { Partner } from '../ports/rows/clients.ts'
import { CONTEXTS_NARROWEST_FIRST, LETTERS, type Letter, parseScope, type ResourceScope, type ScopeContext } from './scopes.ts'
import type { View } from './view/view-rules.ts'

/**
 * Permission for a type. `within`: the patients whose data it covers, as `Patient/1`; absent: all data of the tenant. `id`: the only
 * resource it covers.
 */
export type AccessClause = {
  /** A resource type, or `*`. */
  readonly type: string
  readonly letters: readonly Letter[]
  /** Search criteria that each resource must match; empty: no criteria. */
  readonly query: string
  readonly within?: readonly string[]
  readonly id?: string
  /** Ids of the resources that the clause covers. Absent: all resources that match. */
  readonly ids?: readonly string[]
}

/**
 * Access of a caller: each action that one of the clauses allows. `context`: context of the scopes that error messages about missing access
 * suggest.
 */
export type Access = {
  readonly clauses: readonly AccessClause[]
  readonly isAdministrator: boolean
  readonly context: ScopeContext
  /** Present for a partner. `clauses` open its own Groups and, with a member in context, the data of that member. */
  readonly partner?: PartnerAccess
  /** View under which the caller receives resources. Absent: whole resources. */
  readonly view?: View
}

/**
 * Access of a partner. `exported`: clauses for the contents of exports for partners. `operations`: scopes that permit operations; see
 * operation-scopes.ts. `limits`: limits of the data of the member in context; absent without a member.
 */
export type PartnerAccess = {
  readonly partner: Partner
  readonly exported: readonly AccessClause[]
  readonly operations: readonly string[]
  readonly limits?: MemberLimits
}

/**
 * Limits of the data that a token of a partner opens of one member. They equal the limits of an export that starts when the token is
 * issued. `at`: issue time of the token. `windowStart`: instant of the oldest resources; absent: no time window. Both in milliseconds since
 * 1970. `excluded`: labels of data that the Consent does not permit, as `system|code`.
 */
export type MemberLimits = { readonly at: number; readonly windowStart?: number; readonly excluded: readonly string[] }

/** Full access, including the administration that needs `system/admin`. */
export const WHOLE_ACCESS: Access = { clauses: [{ type: '*', letters: LETTERS, query: '' }], isAdministrator: true, context: 'system' }

/** Claims of a token that determine its access. */
export type TokenFacts = {
  readonly scopes: readonly string[]
  /** Patient in context, as `Patient/1`. */
  readonly patient?: string
  /** Patients that the user acts for, as `Patient/1`; absent: the user is not restricted to certain patients. */
  readonly actsFor?: readonly string[]
  /** Whether the token identifies its user, or has no user. `user/` scopes of an unidentified user cover no patient data. */
  readonly isIdentified: boolean
  /** Whether the subject of the token is its client, as with client_credentials: no user is involved. */
  readonly isClientToken: boolean
  /** Whether `patient/` scopes of a client's own token cover all patients or none, if it has no patient in context. */
  readonly patientScopesWithoutContext: 'all' | 'none'
}

export function accessOf(facts: TokenFacts): Access {
  const scopes = facts.scopes.map(parseScope)
  const clauses = scopes.flatMap((scope) => (scope?.kind === 'resource' ? clausesOf(scope, facts) : []))
  const contexts = scopes.flatMap((scope) => (scope?.kind === 'resource' ? [scope.context] : []))
  const context = CONTEXTS_NARROWEST_FIRST.find((each) => contexts.includes(each)) ?? (facts.isClientToken ? 'system' : 'user')
  return { clauses, isAdministrator: scopes.some((scope) => scope?.kind === 'admin'), context }
}

function clausesOf({ context, type, letters, query }: ResourceScope, facts: TokenFacts): readonly AccessClause[] {
  const within = context === 'patient' ? patientsOf(facts) : context === 'user' ? actedFor(facts) : 'all'
  return [{ type, letters, query, ...(within === 'all' ? {} : { within }) }]
}

const actedFor = ({ isIdentified, actsFor }: TokenFacts): readonly string[] | 'all' => (isIdentified ? (actsFor ?? 'all') : [])

/** Returns the patients that a `patient/` scope covers. An empty list keeps the types in scope and hides all patient data. */
function patientsOf({ patient, actsFor, isClientToken, patientScopesWithoutContext }: TokenFacts): readonly string[] | 'all' {
  // guard: patient-scope-of-acting-user
  if (patient !== undefined) return actsFor === undefined || actsFor.includes(patient) ? [patient] : []
  return isClientToken && patientScopesWithoutContext === 'all' ? 'all' : []
}

/** Returns the clauses for a type and a letter. If there are none, the type is out of scope. */
export const clausesFor = ({ clauses }: Access, type: string, letter: Letter): readonly AccessClause[] =>
  clauses.filter((clause) => (clause.type === '*' || clause.type === type) && clause.letters.includes(letter))
