/** For whom a user acts, by the person the user is. https://hl7.org/fhir/smart-app-launch/scopes-and-launch-context.html#scopes-for-requesting-identity-data */
import { type BaseUrls, toRelative } from '../fhir/references.ts'

/** Who works for an organization acts for all of a tenant. */
const STAFF: ReadonlySet<string> = new Set(['Practitioner', 'PractitionerRole'])

/** Whom an id makes a person of one tenant: in another it is somebody else. */
export const isTenantBoundUser = (fhirUser: string | undefined): boolean => /(?:^|\/)(?:Patient|RelatedPerson)\/[^/]*$/.test(fhirUser ?? '')

/**
 * The patients, `Patient/1`; absent: all of the tenant. A patient acts for nobody else; who cares for patients, for those of the ids `caredFor`;
 * everybody else, and a person of another server, for nobody.
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
 * Returns the ids of the patients that the person `fhirUser` acts for now: a Patient for itself, a RelatedPerson for its patient. None if the
 * resource is deleted, or the RelatedPerson is unknown, inactive or outside its period. Returns undefined for every other fhirUser.
 */
export type PersonReader = (fhirUser: string, tenant: string) => Promise<readonly string[] | undefined>
