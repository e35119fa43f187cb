/** Validates registrations of clients and users. Throws RangeError with the reason if one is invalid. */
import { parseScope, splitScopes } from '../../access/scopes.ts'
import { identifierTextOf, parseIdentifierText } from '../../fhir/identifier-text.ts'
import { isId } from '../../fhir/resource.ts'
import { type Client, type ClientAuthentication, isClientId, type Partner } from '../../ports/rows/clients.ts'
import { isUserName, type User } from '../../ports/rows/users.ts'
import { findRedirectUriProblem } from '../redirect-uri.ts'
import { tenantsOfPerson } from '../tenant-intersection.ts'

/** Maximum entries of each list of a registration. The limits ensure that a client fits into its row; larger registrations are rejected. */
const MOST = 100
/** Maximum characters of a client's name. */
const LONGEST_NAME = 200
/** Maximum characters of all scopes, joined by spaces. */
const LONGEST_SCOPES = 20_000

export type ClientRegistration = Pick<
  Client,
  'id' | 'name' | 'scopes' | 'redirectUris' | 'tenants' | 'mayIntrospect' | 'authentication'
> & {
  /** Patient id, as `Patient/1` or `1`. */
  readonly patient?: string
  readonly consistency?: Client['consistency']
  readonly partner?: Partner
}

export function toClient(request: ClientRegistration, registeredAt: number): Client {
  const { id, name, authentication, redirectUris, mayIntrospect, patient, consistency, partner } = request
  if (!isClientId(id)) throw new RangeError('The id of a client is 1 to 64 letters, digits, ".", "_" and "-"')
  checkAuthentication(authentication)
  checkCount(redirectUris, 'redirect URIs')
  for (const uri of redirectUris) {
    const fault = findRedirectUriProblem(uri)
    if (fault !== undefined) throw new RangeError(`The redirect URI ${shown(uri)} ${fault}`)
  }
  return {
    ...{ id, name: checkedName(name), authentication, redirectUris: [...new Set(redirectUris)], mayIntrospect },
    ...{ registeredAt, changedAt: registeredAt },
    ...{ scopes: checkedScopes(request.scopes), tenants: checkedTenants(request.tenants) },
    ...(consistency === undefined ? {} : { consistency }),
    ...(partner === undefined ? {} : { partner: checkedPartner(partner, request) }),
    ...(patient === undefined
      ? {}
      : { patient: checkedPerson(patient.includes('/') ? patient : `Patient/${patient}`, ['Patient'], request.tenants) }),
  }
}

export type UserRegistration = Pick<User, 'name' | 'scopes' | 'tenants' | 'fhirUser'>

export function toUser(request: UserRegistration, kept: Pick<User, 'subject' | 'password' | 'generation' | 'changedAt'>): User {
  const name = request.name.toLowerCase()
  if (!isUserName(name)) throw new RangeError('The name of a user is 1 to 128 letters, digits, ".", "_", "@", "+" and "-"')
  return {
    ...{ ...kept, name, scopes: checkedScopes(request.scopes), tenants: checkedTenants(request.tenants) },
    ...(request.fhirUser === undefined ? {} : { fhirUser: checkedPerson(request.fhirUser, PEOPLE, request.tenants) }),
  }
}

/**
 * Resource types that `fhirUser` may name.
 * http://hl7.org/fhir/smart-app-launch/scopes-and-launch-context.html#scopes-for-requesting-identity-data
 */
const PEOPLE = ['Practitioner', 'PractitionerRole', 'Patient', 'RelatedPerson', 'Person']

function checkAuthentication(authentication: ClientAuthentication): void {
  if (authentication.kind !== 'uri') return
  const { uri } = authentication
  const { protocol, username, password, hash } = URL.canParse(uri) ? new URL(uri) : { protocol: '' }
  if (protocol !== 'https:' || username !== '' || password !== '' || hash !== '' || uri.length > 2_000)
    throw new RangeError('Keys are published under an https URL without a user and a fragment')
}

/** Maximum identifiers of a partner. Each token of it holds all of them, and tokens travel in a header. */
const MOST_IDENTIFIERS = 10

/** Scopes that a partner may have. What they open, access/partner-access.ts decides. */
const PARTNER_SCOPE = /^system\/(?:\*|[A-Za-z]+)\.(?:r|s|rs)$/

function checkedPartner(
  { kind, identifiers }: Partner,
  { authentication, scopes, redirectUris, patient, mayIntrospect }: ClientRegistration,
): Partner {
  if (authentication.kind !== 'keys' && authentication.kind !== 'uri')
    throw new RangeError('A partner authenticates by signed assertions: register its public keys')
  if (redirectUris.length > 0 || patient !== undefined || mayIntrospect)
    throw new RangeError('A partner acts for its organization. It cannot have a redirect URI or a patient, and cannot introspect tokens')
  const other = scopes.flatMap(splitScopes).find((scope) => !PARTNER_SCOPE.test(scope))
  if (other !== undefined)
    throw new RangeError(`A partner can have only system/ scopes for reading and searching: ${shown(other)} is another scope`)
  if (identifiers.length === 0 || identifiers.length > MOST_IDENTIFIERS)
    throw new RangeError(`A partner has 1 to ${MOST_IDENTIFIERS} identifiers, by which Consents and Groups name it`)
  const wrong = identifiers.map(identifierTextOf).find((text) => parseIdentifierText(text) === undefined)
  if (wrong !== undefined)
    throw new RangeError(
      `${shown(wrong)} is no identifier: write SYSTEM|VALUE, with a URI as system and 1 to 100 visible characters as value`,
    )
  return { kind, identifiers: identifiers.map(({ system, value }) => ({ system, value })) }
}

function checkedName(name: string): string {
  const trimmed = name.trim()
  if (trimmed === '' || trimmed.length > LONGEST_NAME || /\p{Cc}|\p{Cf}|\p{Cs}/u.test(trimmed))
    throw new RangeError(`A name has 1 to ${LONGEST_NAME} characters that can be seen`)
  return trimmed
}

function checkedScopes(given: readonly string[]): readonly string[] {
  const scopes = [...new Set(given.flatMap(splitScopes))]
  if (scopes.length === 0) throw new RangeError('Without a scope nothing may be done: say which, as system/Observation.rs')
  checkCount(scopes, 'scopes')
  if (scopes.join(' ').length > LONGEST_SCOPES) throw new RangeError(`The scopes are longer than ${LONGEST_SCOPES} characters`)
  const unknown = scopes.find((scope) => parseScope(scope) === undefined)
  if (unknown !== undefined) throw new RangeError(`${shown(unknown)} is no scope of this server`)
  return scopes
}

function checkedTenants(tenants: readonly string[]): readonly string[] {
  if (tenants.length === 0) throw new RangeError('Nothing belongs to no tenant: name one')
  checkCount(tenants, 'tenants')
  const wrong = tenants.find((tenant) => tenant !== '*' && !/^[A-Za-z0-9_-]{1,64}$/.test(tenant))
  if (wrong !== undefined) throw new RangeError(`${shown(wrong)} is no tenant: 1 to 64 letters, digits, "_" and "-", or * for all`)
  return [...new Set(tenants)]
}

/**
 * Returns the reference to a person. Throws RangeError if it is invalid. Throws too for a patient or related person with several tenants:
 * the same id identifies a different person in each tenant.
 */
function checkedPerson(reference: string, types: readonly string[], tenants: readonly string[]): string {
  const [type = '', id = '', ...rest] = reference.split('/')
  if (!types.includes(type) || !isId(id) || rest.length > 0) throw new RangeError(`${shown(reference)} is none of ${types.join(', ')}/ID`)
  if (tenantsOfPerson([...new Set(tenants)], reference).length === 0)
    throw new RangeError(`${reference} names another person in each tenant: register one tenant`)
  return reference
}

function checkCount(list: readonly string[], what: string): void {
  if (list.length > MOST) throw new RangeError(`More than ${MOST} ${what} are given`)
}

const shown = (text: string): string => JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text)
