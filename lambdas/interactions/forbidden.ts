/** FhirErrors 403 for requests that their scopes do not allow. https://hl7.org/fhir/R4/security.html#AccessDenied */
import { type Access, clausesFor } from '../access/access.ts'
import { PARTNER_TYPES, REFERENCED_TYPES } from '../access/partner-types.ts'
import type { Letter } from '../access/scopes.ts'
import { FhirError, fhirError } from '../fhir/outcome.ts'

export const forbidden = (text: string): FhirError => fhirError(403, 'forbidden', text)

/** Returns FhirError 403 with a challenge that names a sufficient scope. https://www.rfc-editor.org/rfc/rfc6750#section-3.1 */
export function outsideOf(scope: string, text: string): FhirError {
  const challenge = `Bearer error="insufficient_scope", scope="${scope}"`
  return new FhirError(403, [{ severity: 'error', code: 'forbidden', text }], { 'www-authenticate': challenge })
}

/**
 * Returns FhirError 403 that suggests a sufficient scope, such as `user/Observation.s`. `context` (patient, user or system) is that of the
 * scopes of the caller. No further scope helps a partner that has all scopes for reading, so the error says what it may do.
 */
export function insufficientScope({ partner, ...access }: Access, type: string, letters: string): FhirError {
  const scope = `${access.context}/${type}.${letters}`
  const isGranted = (letter: string): boolean =>
    isWriting(letter) || (type !== 'Group' && clausesFor({ ...access, clauses: partner!.exported }, type, letter as Letter).length > 0)
  if (partner !== undefined && [...letters].every(isGranted)) return forbidden(partnerTextOf(type, letters))
  return outsideOf(scope, `This needs a scope for ${type}.${letters}, such as ${scope}`)
}

const isWriting = (letters: string): boolean => /[cud]/.test(letters)

function partnerTextOf(type: string, letters: string): string {
  if (isWriting(letters)) return 'A partner cannot write'
  const isReadable = [...PARTNER_TYPES, ...REFERENCED_TYPES].includes(type)
  return isReadable ? `A partner reads ${type} only with a token for one member` : `A partner cannot read ${type}`
}

/** Returns the error for an export without a scope for Group. Clients often request scopes for the exported types only. */
export function insufficientGroupScope({ context }: Access): FhirError {
  const scope = `${context}/Group.r`
  const text = `An export of a Group reads the Group itself: it needs a scope for Group.r, such as ${scope} or ${context}/Group.read`
  return outsideOf(scope, text)
}

export const insufficientAdministratorScope = (): FhirError =>
  outsideOf(
    'system/admin',
    'This is for administrators: it needs the scope system/admin, as fhir token --admin has it where the server runs',
  )
