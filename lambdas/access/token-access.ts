/** Access that a token grants. */
import { type BaseUrls, toRelative } from '../fhir/references.ts'
import { type Access, accessOf } from './access.ts'
import { userPatientsOf } from './user-patients.ts'
import type { VerifiedToken } from './verification/verified-token.ts'

/** Cached access of each token. The rules are cached by access, so they are created once for a token. */
const KNOWN = new WeakMap<VerifiedToken, Access>()

export function accessOfToken(token: VerifiedToken, bases: BaseUrls): Access {
  let access = KNOWN.get(token)
  if (access === undefined) {
    access = made(token, bases)
    KNOWN.set(token, access)
  }
  return access
}

/**
 * Returns the access of a read. With the scopes `openid fhirUser`, a user may also read the resource that `fhirUser` names, even if no
 * other scope allows its type. This applies to the types in `OF_PERSONS` only.
 * https://hl7.org/fhir/smart-app-launch/scopes-and-launch-context.html#scopes-for-requesting-identity-data
 */
export function readAccessOf(
  token: VerifiedToken,
  bases: BaseUrls,
  { type = '', id = '' }: { readonly type?: string; readonly id?: string },
): Access {
  const access = accessOfToken(token, bases)
  const { fhirUser, scopes } = token
  const isOwn = fhirUser !== undefined && OF_PERSONS.has(type) && toRelative(fhirUser, bases) === `${type}/${id}`
  if (!isOwn || !scopes.includes('openid') || !scopes.includes('fhirUser')) return access
  return { ...access, clauses: [...access.clauses, { type, letters: ['r'], query: '', id }] }
}

const OF_PERSONS: ReadonlySet<string> = new Set(['Patient', 'RelatedPerson', 'Person', 'Practitioner', 'PractitionerRole'])

function made(token: VerifiedToken, bases: BaseUrls): Access {
  const { scopes, patient, fhirUser, subject, client, actsFor, patientScopesWithoutContext = 'all' } = token
  const isOfClient = subject === client
  return accessOf({
    scopes,
    isOfClient,
    patientScopesWithoutContext,
    ...(patient === undefined ? {} : { patient: `Patient/${patient}` }),
    isKnown: isOfClient || fhirUser !== undefined,
    ...userPatientsOf(fhirUser, actsFor, bases),
  })
}
