/** Finds the providers of attestations in the directory of this server. http://hl7.org/fhir/us/davinci-pdex-plan-net */
import { toLocalReference } from '../../fhir/references.ts'
import type { Resource } from '../../fhir/resource.ts'
import type { ParameterPairs } from '../../search/query/parameter-pairs.ts'
import { NPI, TREATMENT_GROUP } from '../codes.ts'
import { covers, identifierOf, itemsOf, type PartyIdentifier, referenceOf } from '../elements.ts'
import { escapeValue, findCurrent, type MemberData } from '../member-data.ts'

/** Maximum resources that are read for the providers of one query. A provider with more is not found. */
const MAX_FOUND = 1_000
/** Maximum NPIs of one query. */
const NPIS = 100
/** Maximum Groups of patients that are read for one provider. Patients of a provider with more are not listed. */
const MAX_GROUPS = 5_000

/** Providers of the directory: references to them, such as `Practitioner/1`, by NPI. */
export type Directory = ReadonlyMap<string, ReadonlySet<string>>

/**
 * Returns the active Practitioners and Organizations with these NPIs that have an active role or affiliation, and these roles. An NPI
 * without a provider is absent.
 */
export async function findInDirectory(data: MemberData, npis: readonly PartyIdentifier[]): Promise<Directory> {
  const found = new Map<string, Set<string>>()
  const values = [...new Set(npis.map(({ value }) => value))]
  for (let first = 0; first < values.length; first += NPIS) await addProviders(data, values.slice(first, first + NPIS), found)
  return found
}

const ACTIVE = ['active', 'true'] as const

async function addProviders(data: MemberData, npis: readonly string[], found: Map<string, Set<string>>): Promise<void> {
  const criteria: ParameterPairs = [['identifier', npis.map((npi) => `${NPI}|${escapeValue(npi)}`).join(',')], ACTIVE]
  const owners = new Map<string, readonly string[]>()
  for (const type of ['Practitioner', 'Organization'])
    for (const each of await findAll(data, type, criteria)) owners.set(`${type}/${each.id}`, npisOf(each))
  const add = (owner: string, ...references: readonly string[]): void => {
    for (const npi of owners.get(owner) ?? []) {
      const known = found.get(npi) ?? new Set()
      for (const reference of [owner, ...references]) known.add(reference)
      found.set(npi, known)
    }
  }
  for (const [type, parameter, element] of ROLES) {
    const names = [...owners.keys()].filter((name) => name.startsWith(OWNERS[parameter]!))
    if (names.length === 0) continue
    for (const role of await findAll(data, type, [[parameter, names.join(',')], ACTIVE])) {
      const owner = toLocalReference(referenceOf(role[element]) ?? '', data.reading)
      if (owner !== undefined) add(owner, ...(type === 'PractitionerRole' ? [`${type}/${role.id}`] : []))
    }
  }
}

/** Roles and affiliations: type, search parameter, and element that refers to the provider. */
const ROLES: readonly (readonly [type: string, parameter: string, element: string])[] = [
  ['PractitionerRole', 'practitioner', 'practitioner'],
  ['PractitionerRole', 'organization', 'organization'],
  ['OrganizationAffiliation', 'primary-organization', 'organization'],
  ['OrganizationAffiliation', 'participating-organization', 'participatingOrganization'],
]
const OWNERS: Readonly<Record<string, string>> = {
  practitioner: 'Practitioner/',
  organization: 'Organization/',
  'primary-organization': 'Organization/',
  'participating-organization': 'Organization/',
}

const npisOf = ({ identifier }: Resource): readonly string[] =>
  itemsOf(identifier)
    .flatMap(identifierOf)
    .flatMap(({ system, value }) => (system === NPI ? [value] : []))

/** Returns the matches, or none if there are more than the limit. */
async function findAll(data: MemberData, type: string, pairs: ParameterPairs): Promise<readonly Resource[]> {
  const { resources, more } = await findCurrent(data, type, pairs, MAX_FOUND)
  // guard: unread-directory-finds-none
  return more ? [] : resources
}

/**
 * Returns the Patients that a provider treats by the Groups of the payer, as `Patient/1`. `providers`: references to the provider.
 * http://hl7.org/fhir/us/davinci-pdex/StructureDefinition/pdex-treatment-relationship
 */
export async function findListedPatients(data: MemberData, providers: readonly string[], now: number): Promise<ReadonlySet<string>> {
  const listed = new Set<string>()
  if (providers.length === 0) return listed
  const pairs: ParameterPairs = [
    ['member', providers.join(',')],
    ['_profile', TREATMENT_GROUP],
  ]
  const { resources, more } = await findCurrent(data, 'Group', pairs, MAX_GROUPS)
  if (more) return listed
  const isNow = (period: unknown): boolean => covers(period, now, data.reading.timeZone)
  for (const { active, characteristic, member } of resources) {
    const isTreating = itemsOf(member).some(
      ({ entity, inactive, period }) =>
        inactive !== true && isNow(period) && providers.includes(toLocalReference(referenceOf(entity) ?? '', data.reading) ?? ''),
    )
    if (active === false || !isTreating) continue
    for (const { valueReference, exclude, period } of itemsOf(characteristic)) {
      const patient = toLocalReference(referenceOf(valueReference) ?? '', data.reading)
      if (exclude !== true && isNow(period) && patient !== undefined) listed.add(patient)
    }
  }
  return listed
}
