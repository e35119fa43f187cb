/** Finds the patients among whom a user may choose when an app requires one. The pages of the authorization server show them. */
import { type Access, accessOf } from '../../access/access.ts'
import { type PersonReader, userPatientsOf } from '../../access/user-patients.ts'
import type { FoundPatient, FoundRecord, PatientFinder } from '../../auth/endpoint.ts'
import type { BundlePage } from '../../fhir/bundle.ts'
import { parseJsonBytes } from '../../fhir/json.ts'
import { type Element, isElement, isId } from '../../fhir/resource.ts'
import type { FhirRequest } from '../../interactions/interaction.ts'
import { search } from '../../interactions/rest/search.ts'
import type { SearchPorts } from '../../interactions/searching/page-entries.ts'
import type { User } from '../../ports/rows/users.ts'
import type { StoredTenants } from '../../ports/store/tenants.ts'
import type { ParameterPairs } from '../../search/query/parameter-pairs.ts'
import type { SearchContext } from '../../search/search-context.ts'
import { type PersonParts, readCurrentResource, referencedTypeAndId } from './person-patients.ts'

export type PatientFinderParts = Pick<PersonParts, 'resources'> & {
  readonly patientsOf: PersonReader
  readonly ports: SearchPorts
  /** Tenants that have data: searched for users with access to all tenants, and checked for the tenant of a launch. */
  readonly knownTenants: StoredTenants
  readonly baseUrl: string
  readonly reading: (tenant: string) => SearchContext | Promise<SearchContext>
}

/** Maximum patients found in each tenant. */
const MOST = '20'
/** Maximum tenants that are searched for one page. Patients of further tenants are not found. */
const MOST_TENANTS = 20

export function patientFinder(parts: PatientFinderParts): PatientFinder {
  const inEach = async <T>(tenants: readonly string[], look: (tenant: string) => Promise<readonly T[]>): Promise<readonly T[]> => {
    const named = tenants.includes('*') ? await someOf(parts.knownTenants) : tenants.slice(0, MOST_TENANTS)
    return (await Promise.all(named.map(look))).flat()
  }
  return {
    find(user, tenants, text) {
      const words = text.split(/\s+/).filter((word) => word !== '')
      const criteria: ParameterPairs = [...words.map((word) => ['name', word] as const), ['_sort', 'family']]
      return inEach(tenants, (tenant) => patientsIn(parts, user, tenant, criteria))
    },
    async get(user, tenants, id) {
      return isId(id) ? (await inEach(tenants, (tenant) => patientsIn(parts, user, tenant, [['_id', id]])))[0] : undefined
    },
    recordsOf: (tenants, type, id) => inEach(tenants, (tenant) => recordOf(parts, tenant, type, id)),
    isTenant: (tenant) => isKnown(parts.knownTenants, tenant),
  }
}

async function someOf(known: StoredTenants): Promise<readonly string[]> {
  const found: string[] = []
  for await (const tenant of known.tenants()) if (found.push(tenant) === MOST_TENANTS) break
  return found
}

async function isKnown(known: StoredTenants, wanted: string): Promise<boolean> {
  for await (const tenant of known.tenants()) if (tenant === wanted) return true
  return false
}

async function recordOf(parts: PatientFinderParts, tenant: string, type: FoundRecord['type'], id: string): Promise<readonly FoundRecord[]> {
  const tree = isId(id) ? await readCurrentResource(parts, { tenant, type, id }) : undefined
  if (tree === undefined) return []
  const [of, patient] = type === 'Patient' ? [type, id] : referencedTypeAndId(tree.subject, await parts.reading(tenant))
  return [{ type, tenant, ...(of === 'Patient' && patient !== undefined ? { patient } : {}) }]
}

/** Returns the patients that a FHIR search with the access of this user finds. Other patients stay hidden. */
async function patientsIn(
  parts: PatientFinderParts,
  user: User,
  tenant: string,
  criteria: ParameterPairs,
): Promise<readonly FoundPatient[]> {
  const scopes = user.scopes.map((scope) => scope.replace(/^(?:patient|system)\//, 'user/'))
  const { fhirUser } = user
  const patients = fhirUser === undefined ? undefined : await parts.patientsOf(fhirUser, tenant)
  const own = userPatientsOf(fhirUser, patients, await parts.reading(tenant))
  const access = accessOf({
    scopes: own.actsFor === undefined ? scopes : [...scopes, 'user/Patient.rs'],
    ...own,
    ...AS_USER,
    isIdentified: fhirUser !== undefined,
  })
  return (await found(parts, 'Patient', tenant, access, criteria)).map((patient) => shownOf(patient, tenant))
}

const AS_USER = { isClientToken: false, patientScopesWithoutContext: 'none' } as const

async function found(
  { ports, baseUrl, reading }: PatientFinderParts,
  type: string,
  tenant: string,
  access: Access,
  criteria: ParameterPairs,
): Promise<readonly Element[]> {
  const request: FhirRequest = {
    ...{ interaction: 'search-type', type, tenant, client: '', user: undefined, clientAuth: 'none', access, baseUrl },
    parameters: [...criteria, ['_count', MOST], ['_total', 'none']],
    ...{ reading: await reading(tenant), requestId: '', posted: false, preconditions: {}, preferences: {} },
  }
  const { entries } = (await search(ports)(request)).body as BundlePage
  return entries.flatMap(({ resource }) => {
    const tree = resource instanceof Uint8Array ? parseJsonBytes(resource) : resource
    return isElement(tree) ? [tree] : []
  })
}

function shownOf({ id = '', name, birthDate, gender, identifier }: Element, tenant: string): FoundPatient {
  const number = numberOf(identifier)
  return {
    ...{ id: String(id), name: nameOf(name), tenant },
    ...(typeof birthDate === 'string' ? { birthDate } : {}),
    ...(typeof gender === 'string' ? { sex: gender } : {}),
    ...(number === undefined ? {} : { number }),
  }
}

const elementsOf = (list: unknown): readonly Element[] => (Array.isArray(list) ? list.filter(isElement) : [])

function nameOf(names: unknown): string {
  const { text, given, family } = elementsOf(names)[0] ?? {}
  const parts = [...(Array.isArray(given) ? given : []), family].filter((part) => typeof part === 'string')
  return typeof text === 'string' ? text : parts.length > 0 ? parts.join(' ') : 'Without a name'
}

/**
 * Returns the value of the medical record number, or of the first identifier if none has that type.
 * https://terminology.hl7.org/CodeSystem-v2-0203.html
 */
function numberOf(identifiers: unknown): string | undefined {
  const withValue = elementsOf(identifiers).filter(({ value }) => typeof value === 'string')
  const isRecordNumber = ({ type }: Element) => isElement(type) && elementsOf(type.coding).some(({ code }) => code === 'MR')
  return (withValue.find(isRecordNumber) ?? withValue[0])?.value as string | undefined
}
