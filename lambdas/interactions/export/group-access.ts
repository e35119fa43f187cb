/** Access to the Group of an export. https://hl7.org/fhir/uv/bulkdata/STU2/export.html#endpoint---group-of-patients */
import { type Access, type AccessClause, accessOf, clausesFor } from '../../access/access.ts'
import { isWholeType } from '../../access/rules.ts'
import type { VerifiedToken } from '../../access/verification/verified-token.ts'
import type { Clients } from '../../ports/rows/clients.ts'
import { insufficientGroupScope } from '../forbidden.ts'
import type { FhirRequest } from '../interaction.ts'

export type GroupAccessPorts = {
  readonly clients: Pick<Clients, 'get'>
  readonly choices: Pick<Required<VerifiedToken>, 'patientScopesWithoutContext'>
}

/**
 * Returns the access for reading the Group of an export and the Groups in it. The scopes of the token grant it, or the scopes in the
 * registration of the client. Clients often request scopes only for the types that they export. Throws FhirError 403 if no scope covers
 * Group.
 */
export async function groupAccessOf(ports: GroupAccessPorts, request: FhirRequest): Promise<Access> {
  const { access, reading } = request
  const registered = isWholeType(access, 'Group', 'r', reading) ? [] : await registeredClauses(ports, request)
  const clauses = [...groupClauses(access), ...registered]
  if (clauses.length === 0) throw insufficientGroupScope(access)
  return { clauses, isAdministrator: false, context: access.context }
}

/**
 * Returns the access to Groups that the registration of the client grants. Returns none for users: the registration only limits their
 * access.
 */
async function registeredClauses(
  { clients, choices }: GroupAccessPorts,
  { access, client, user, tenant }: FhirRequest,
): Promise<readonly AccessClause[]> {
  // guard: registration-opens-no-group-to-users
  if (user !== undefined) return []
  // guard: registration-opens-no-group-to-partners
  if (access.partner !== undefined) return []
  const registered = await clients.get(client)
  // guard: registration-opens-groups-of-its-tenants
  if (registered === undefined || !registered.tenants.some((each) => each === '*' || each === tenant)) return []
  const { patient } = registered
  // guard: client-without-user-scopes
  const scopes = registered.scopes.filter((scope) => !scope.startsWith('user/'))
  const { patientScopesWithoutContext } = choices
  return groupClauses(
    accessOf({
      scopes,
      ...(patient === undefined ? {} : { patient }),
      isIdentified: false,
      isClientToken: true,
      patientScopesWithoutContext,
    }),
  )
}

const groupClauses = (access: Access): readonly AccessClause[] =>
  clausesFor(access, 'Group', 'r').map((clause) => ({ ...clause, type: 'Group', letters: ['r'] }))
