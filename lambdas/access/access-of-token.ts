/** What a token may do. */
import { type Access, accessOf } from './access.ts'
import type { VerifiedToken } from './verification/verified-token.ts'

/** What was made of a token is remembered with it: its rules are made once. */
const KNOWN = new WeakMap<VerifiedToken, Access>()

export function accessOfToken(token: VerifiedToken): Access {
  let access = KNOWN.get(token)
  if (access === undefined) {
    access = made(token)
    KNOWN.set(token, access)
  }
  return access
}

const made = ({ scopes, patient, fhirUser, subject, client, actsFor, patientScopesWithoutContext = 'all' }: VerifiedToken): Access =>
  accessOf({
    scopes,
    isOfClient: subject === client,
    patientScopesWithoutContext,
    ...(patient === undefined ? {} : { patient: `Patient/${patient}` }),
    ...actingFor(fhirUser, actsFor),
  })

/**
 * A patient acts for nobody else; who cares for patients, for those the token names; a person of another server for nobody.
 * https://hl7.org/fhir/R4/relatedperson.html
 */
function actingFor(fhirUser = '', actsFor: readonly string[] = []): { readonly actsFor?: readonly string[] } {
  const [, base, type, id] = /^(.*\/)?(Patient|RelatedPerson)\/([A-Za-z0-9\-.]{1,64})$/.exec(fhirUser) ?? []
  if (type === undefined) return {}
  if (base !== undefined) return { actsFor: [] }
  return { actsFor: type === 'Patient' ? [`Patient/${id}`] : actsFor.map((patient) => `Patient/${patient}`) }
}
