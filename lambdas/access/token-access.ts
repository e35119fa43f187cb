/** What a token may do. */
import type { Bases } from '../fhir/references.ts'
import { type Access, accessOf } from './access.ts'
import { actingFor } from './user-patients.ts'
import type { VerifiedToken } from './verification/verified-token.ts'

/** What was made of a token is remembered with it: its rules are made once. */
const KNOWN = new WeakMap<VerifiedToken, Access>()

export function accessOfToken(token: VerifiedToken, bases: Bases): Access {
  let access = KNOWN.get(token)
  if (access === undefined) {
    access = made(token, bases)
    KNOWN.set(token, access)
  }
  return access
}

function made(token: VerifiedToken, bases: Bases): Access {
  const { scopes, patient, fhirUser, subject, client, actsFor, patientScopesWithoutContext = 'all' } = token
  const isOfClient = subject === client
  return accessOf({
    scopes,
    isOfClient,
    patientScopesWithoutContext,
    ...(patient === undefined ? {} : { patient: `Patient/${patient}` }),
    isKnown: isOfClient || fhirUser !== undefined,
    ...actingFor(fhirUser, actsFor, bases),
  })
}
