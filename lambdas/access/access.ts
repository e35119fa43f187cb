/**
 * What a request may see and change: every interaction gets one, and what it does not grant is refused.
 * https://hl7.org/fhir/smart-app-launch/scopes-and-launch-context.html
 */
import { CONTEXTS_NARROWEST_FIRST, LETTERS, type Letter, parseScope, type ResourceScope, type ScopeContext } from './scopes.ts'

/** `within`: the patients whose data it is about, `Patient/1`; absent: all of the tenant. `id`: the only resource it is about. */
export type AccessClause = {
  /** A resource type, or `*`. */
  readonly type: string
  readonly letters: readonly Letter[]
  /** A search each resource must match; empty: none. */
  readonly query: string
  readonly within?: readonly string[]
  readonly id?: string
}

/** What one clause allows is allowed. `context`: of scopes that would allow more, as a hint. */
export type Access = { readonly clauses: readonly AccessClause[]; readonly isAdministrator: boolean; readonly context: ScopeContext }

/** Of who needs no token. */
export const WHOLE_ACCESS: Access = { clauses: [{ type: '*', letters: LETTERS, query: '' }], isAdministrator: true, context: 'system' }

/** Where a token stands, as its claims say. */
export type TokenFacts = {
  readonly scopes: readonly string[]
  /** `Patient/1`. */
  readonly patient?: string
  /** The patients a user who is one, or cares for one, acts for; absent for others. */
  readonly actsFor?: readonly string[]
  /** It says who the user is, or has none: `user/` of a user nobody knows is about nobody. */
  readonly isKnown: boolean
  /** A token of client_credentials. */
  readonly isOfClient: boolean
  /** What scopes of patients mean in a client's token that names none. */
  readonly patientScopesWithoutContext: 'all' | 'none'
}

export function accessOf(standing: TokenFacts): Access {
  const scopes = standing.scopes.map(parseScope)
  const clauses = scopes.flatMap((scope) => (scope?.kind === 'resource' ? clausesOf(scope, standing) : []))
  const contexts = scopes.flatMap((scope) => (scope?.kind === 'resource' ? [scope.context] : []))
  const context = CONTEXTS_NARROWEST_FIRST.find((each) => contexts.includes(each)) ?? (standing.isOfClient ? 'system' : 'user')
  return { clauses, isAdministrator: scopes.some((scope) => scope?.kind === 'admin'), context }
}

function clausesOf({ context, type, letters, query }: ResourceScope, standing: TokenFacts): readonly AccessClause[] {
  const within = context === 'patient' ? patientsOf(standing) : context === 'user' ? actedFor(standing) : 'all'
  return [{ type, letters, query, ...(within === 'all' ? {} : { within }) }]
}

const actedFor = ({ isKnown, actsFor }: TokenFacts): readonly string[] | 'all' => (isKnown ? (actsFor ?? 'all') : [])

/** Where nobody is in context a clause is about nobody: its types are in scope, and nothing of them is seen. */
function patientsOf({ patient, actsFor, isOfClient, patientScopesWithoutContext }: TokenFacts): readonly string[] | 'all' {
  // guard: patient-scope-of-acting-user
  if (patient !== undefined) return actsFor === undefined || actsFor.includes(patient) ? [patient] : []
  return isOfClient && patientScopesWithoutContext === 'all' ? 'all' : []
}

/** The clauses about a type under a letter; none: it is out of scope. */
export const clausesFor = ({ clauses }: Access, type: string, letter: Letter): readonly AccessClause[] =>
  clauses.filter((clause) => (clause.type === '*' || clause.type === type) && clause.letters.includes(letter))
