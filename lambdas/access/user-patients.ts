/**
 * Patients that a user acts for, determined by the resource of the user (`fhirUser`).
 * https://hl7.org/fhir/smart-app-launch/scopes-and-launch-context.html#scopes-for-requesting-identity-data
 */
import { type BaseUrls, toRelative } from '../fhir/references.ts'

/** Types of users that work for an organization. They are not restricted to certain patients. */
const STAFF: ReadonlySet<string> = new Set(['Practitioner', 'PractitionerRole'])

/**
 * Whether the user is a Patient or RelatedPerson. Its id is valid in one tenant: in another tenant the same id identifies a different
 * person.
 */
export const isTenantBoundUser = (fhirUser: string | undefined): boolean => /(?:^|\/)(?:Patient|RelatedPerson)\/[^/]*$/.test(fhirUser ?? '')

/**
 * Returns the patients that a user acts for, as `Patient/1`. A Patient acts for itself, a RelatedPerson for the ids in `caredFor`.
 * `actsFor` is absent, which means not restricted, for staff of this server and for users without `fhirUser`. All others act for no
 * patient: other types, and every person of another server.
 */
export function userPatientsOf(
  fhirUser: string | undefined,
  caredFor: readonly string[] = [],
  bases: BaseUrls = {},
): { readonly actsFor?: readonly string[] } {
  if (fhirUser === undefined) return {}
  const [, type = '', id] = /^([A-Z][A-Za-z]+)\/([A-Za-z0-9\-.]{1,64})$/.exec(toRelative(fhirUser, bases)) ?? []
  if (STAFF.has(type)) return {}
  const patients = type === 'Patient' ? [id] : type === 'RelatedPerson' ? caredFor : []
  return { actsFor: patients.map((patient) => `Patient/${patient}`) }
}

/**
 * Returns the ids of the patients that `fhirUser` acts for now: a Patient for itself, a RelatedPerson for its patient. The list is empty
 * for a deleted Patient. It is also empty for a RelatedPerson that is deleted, not found, inactive or outside its period. Returns undefined
 * for every other `fhirUser`.
 */
export type PersonReader = (fhirUser: string, tenant: string) => Promise<readonly string[] | undefined>
