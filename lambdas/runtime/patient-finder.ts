/** Patients a user may choose from when an app asks for one, as the pages of the authorization server show them. */
import { accessOf } from '../access/access.ts'
import type { FoundPatient, PatientFinder } from '../auth/endpoint.ts'
import type { BundlePage } from '../fhir/bundle.ts'
import { parseJsonBytes } from '../fhir/json.ts'
import { type Element, isElement, isId } from '../fhir/resource.ts'
import type { FhirRequest } from '../interactions/interaction.ts'
import { search } from '../interactions/search.ts'
import type { SearchPorts } from '../interactions/search-entries.ts'
import type { KnownTenants } from '../ports/known-tenants.ts'
import type { User } from '../ports/users.ts'
import type { Pairs } from '../search/pairs.ts'
import type { ReadingOf } from '../search/reading.ts'

export type PatientsParts = {
  readonly ports: SearchPorts
  /** Of users who may see all tenants. */
  readonly knownTenants: KnownTenants
  readonly baseUrl: string
  readonly reading: ReadingOf
}

/** On a page. */
const MOST = '20'
/** Tenants that are searched for a page. */
const MOST_TENANTS = 20

export function patientFinder(parts: PatientsParts): PatientFinder {
  const inEach = async (user: User, tenants: readonly string[], criteria: Pairs): Promise<readonly FoundPatient[]> => {
    const named = tenants.includes('*') ? await someOf(parts.knownTenants) : tenants.slice(0, MOST_TENANTS)
    return (await Promise.all(named.map((tenant) => patientsIn(parts, user, tenant, criteria)))).flat()
  }
  return {
    find: (user, tenants, text) => {
      const words = text.split(/\s+/).filter((word) => word !== '')
      return inEach(user, tenants, [...words.map((word) => ['name', word] as const), ['_sort', 'family']])
    },
    get: async (user, tenants, id) => (isId(id) ? (await inEach(user, tenants, [['_id', id]]))[0] : undefined),
  }
}

async function someOf(known: KnownTenants): Promise<readonly string[]> {
  const found: string[] = []
  for await (const tenant of known.tenants()) if (found.push(tenant) === MOST_TENANTS) break
  return found
}

async function patientsIn(parts: PatientsParts, user: User, tenant: string, criteria: Pairs): Promise<readonly FoundPatient[]> {
  const { body } = await search(parts.ports)(requestOf(parts, user, tenant, criteria))
  const { entries } = body as BundlePage
  return entries.flatMap(({ resource }) => (resource instanceof Uint8Array ? [shownOf(parseJsonBytes(resource), tenant)] : []))
}

/** As a search by the user, who is shown nobody else. */
function requestOf({ baseUrl, reading }: PatientsParts, user: User, tenant: string, criteria: Pairs): FhirRequest {
  const access = accessOf({ ...standingOf(user), isOfClient: false, patientScopesWithoutContext: 'none' })
  return {
    ...{ interaction: 'search-type', type: 'Patient', tenant, client: '', access, baseUrl, reading: reading(tenant), requestId: '' },
    parameters: [...criteria, ['_count', MOST], ['_total', 'none']],
    ...{ posted: false, preconditions: {}, preferences: {} },
  }
}

/** What the user may see of patients, whatever an app asks for. */
function standingOf({ scopes, fhirUser = '' }: User) {
  const [, patient] = /^(Patient\/.+)$/.exec(fhirUser) ?? []
  const asUser = scopes.map((scope) => scope.replace(/^(?:patient|system)\//, 'user/'))
  return { scopes: asUser, ...(patient === undefined ? {} : { actsFor: [patient] }) }
}

function shownOf(patient: unknown, tenant: string): FoundPatient {
  const { id = '', name, birthDate = '', identifier } = isElement(patient) ? patient : ({} as Element)
  return { id: String(id), name: nameOf(name), detail: [birthDate, numberOf(identifier)].filter((part) => part !== '').join(' · '), tenant }
}

const first = (list: unknown): Element => (Array.isArray(list) && isElement(list[0]) ? list[0] : {})

function nameOf(names: unknown): string {
  const { text, given, family } = first(names)
  const parts = [...(Array.isArray(given) ? given : []), family].filter((part) => typeof part === 'string')
  return typeof text === 'string' ? text : parts.length > 0 ? parts.join(' ') : 'Without a name'
}

function numberOf(identifiers: unknown): string {
  const { value } = first(identifiers)
  return typeof value === 'string' ? value : ''
}
