/**
 * Member in context of a token that a partner requests. PDex puts the member into `sub` of the assertion; other partners send the parameter
 * `patient`. https://hl7.org/fhir/us/davinci-pdex/
 */
import { isId } from '../../fhir/resource.ts'
import type { AuthenticatedClient } from '../clients/client-authentication.ts'
import type { AuthPorts, PermittedMember } from '../endpoint.ts'
import { OAuthError } from '../oauth-error.ts'
import { isSingleTenant } from '../tenant-intersection.ts'

/**
 * Returns the member that a partner requests, or undefined if it requests none. Throws OAuthError `invalid_request` if the request names
 * two members, or if the partner has several tenants. Throws `invalid_grant` for a stranger, for a member that the partner did not match,
 * and for a member that does not permit it at this time. The text is the same for all three, so that it reveals no member.
 */
export async function findMemberInContext(
  { partnerMembers }: Pick<AuthPorts, 'partnerMembers'>,
  { client, parameters, member: subject }: AuthenticatedClient,
  tenants: readonly string[],
): Promise<PermittedMember | undefined> {
  if (client.partner === undefined) return undefined
  const parameter = parameters.get('patient')
  const named = parameter === undefined || /[/|]/.test(parameter) ? parameter : `Patient/${parameter}`
  // guard: one-member-in-context
  if (named !== undefined && subject !== undefined && named !== subject)
    throw new OAuthError('invalid_request', 'The parameter patient and sub of the assertion name different members: send one of them')
  const name = subject ?? named
  if (name === undefined) return undefined
  if (!isSingleTenant(tenants))
    throw new OAuthError(
      'invalid_request',
      'A client of several tenants cannot request a member, because a patient id may name another person in each tenant',
    )
  const isNamed = name.includes('|') || isId(name.slice(PATIENT.length))
  const found = isNamed ? await partnerMembers.find(client, tenants[0]!, name) : undefined
  // guard: member-in-context-is-permitted
  if (found === undefined) throw new OAuthError('invalid_grant', 'The client has no access to this member')
  return found
}

const PATIENT = 'Patient/'
