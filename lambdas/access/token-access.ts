/** Derives the access of a request from its token. */
import { type BaseUrls, toRelative } from '../fhir/references.ts'
import { type Access, accessOf } from './access.ts'
import { partnerAccessOf } from './partner-access.ts'
import { userPatientsOf } from './user-patients.ts'
import type { VerifiedToken } from './verification/verified-token.ts'

/** Cached access by token. rules.ts caches rules by access, so requests with the same token share their rules. */
const ACCESS = new WeakMap<VerifiedToken, Access>()

export function accessOfToken(token: VerifiedToken, bases: BaseUrls): Access {
  let access = ACCESS.get(token)
  if (access === undefined) {
    access = createAccess(token, bases)
    ACCESS.set(token, access)
  }
  return access
}

/**
 * Returns the access of a read. With the scopes `openid fhirUser`, a user may also read the resource that `fhirUser` names, even if no
 * other scope allows its type. This applies to the types in `PERSON_TYPES` only.
 * https://hl7.org/fhir/smart-app-launch/scopes-and-launch-context.html#scopes-for-requesting-identity-data
 */
export function readAccessOf(
  token: VerifiedToken,
  bases: BaseUrls,
  { type = '', id = '' }: { readonly type?: string; readonly id?: string },
): Access {
  const access = accessOfToken(token, bases)
  const { fhirUser, scopes } = token
  const isOwn = fhirUser !== undefined && PERSON_TYPES.has(type) && toRelative(fhirUser, bases) === `${type}/${id}`
  if (!isOwn || !scopes.includes('openid') || !scopes.includes('fhirUser')) return access
  return { ...access, clauses: [...access.clauses, { type, letters: ['r'], query: '', id }] }
}

const PERSON_TYPES: ReadonlySet<string> = new Set(['Patient', 'RelatedPerson', 'Person', 'Practitioner', 'PractitionerRole'])

function createAccess(token: VerifiedToken, bases: BaseUrls): Access {
  const { scopes, patient, fhirUser, subject, client, actsFor, partner, memberLimits, seenAs, patientScopesWithoutContext = 'all' } = token
  const isClientToken = subject === client
  const access = accessOf({
    scopes,
    isClientToken,
    patientScopesWithoutContext,
    ...(patient === undefined ? {} : { patient: `Patient/${patient}` }),
    isIdentified: isClientToken || fhirUser !== undefined,
    ...userPatientsOf(fhirUser, actsFor, bases),
  })
  // guard: partner-opens-own-groups
  if (partner === undefined) return access
  const limits = patient === undefined ? undefined : memberLimits
  const member = limits === undefined ? {} : { member: { name: `Patient/${patient}`, limits } }
  return partnerAccessOf(access, { partner, client: seenAs ?? client, scopes, ...member })
}
