/**
 * FHIR capabilities, made from the route table, the R4 types, the parameter registry and the packages: it cannot claim what is not there.
 * https://hl7.org/fhir/R4/http.html#capabilities, https://hl7.org/fhir/R4/capabilitystatement.html
 */

import type { Element, Resource } from '../fhir/resource.ts'
import { resourceTypes } from '../fhir/resource-types.ts'
import { instant } from '../fhir/version.ts'
import { isSearchable } from '../search/criterion.ts'
import { parametersOf, type SearchParameter } from '../search/parameters.ts'
import type { Reading } from '../search/reading.ts'
import type { Choices, Interaction, Ports, ProfilesByType } from './interaction.ts'
import { APPLY_FHIRPATH, BULK_DATA, OWN_DEFINITIONS, operationsOf } from './operations.ts'
import { type InteractionCode, ROUTES } from './routes.ts'
import { security } from './security.ts'
import { combinationsOf, includesOf, profilesOf, US_CORE } from './us-core.ts'

export const capabilities = ({ clock, choices, profilesOf: added }: Pick<Ports, 'clock' | 'choices' | 'profilesOf'>): Interaction => {
  const started = instant(clock.now())
  // Made when it is first asked for: most processes never are.
  let resources: readonly Element[] | undefined
  return async ({ baseUrl, reading, tenant }) => {
    resources ??= resourcesOf(choices)
    const profiles = await added?.(tenant)
    const known = resources.map((each) => withProfiles(withCustom(each, reading), profiles))
    return { status: 200, headers: MAY_BE_KEPT, body: { ...statement(baseUrl, started), rest: [rest(baseUrl, known, choices)] } }
  }
}

/** No patient's data, but as true as the server that says it. */
const MAY_BE_KEPT = { 'cache-control': 'no-cache' }

function resourcesOf(choices: Choices): readonly Element[] {
  const from = referring()
  return resourceTypes.map((type) => resourceOf(type, choices, from.get(type)!))
}

/** With the parameters somebody defined. */
function withCustom(resource: Element, { custom = [] }: Reading): Element {
  const mine = custom.filter(({ base }) => base === resource.type)
  if (mine.length === 0) return resource
  const codes = new Set<unknown>(mine.map(({ code }) => code))
  const others = (resource.searchParam as readonly Element[]).filter(({ name }) => !codes.has(name))
  return { ...resource, searchParam: [...others, ...mine.map(({ code, type, url }) => ({ name: code, definition: url, type }))] }
}

/** And the profiles somebody added. */
function withProfiles(resource: Element, added: ProfilesByType | undefined): Element {
  const mine = added?.get(resource.type as string)
  if (mine === undefined) return resource
  const { supportedProfile: own = [] } = resource as { readonly supportedProfile?: readonly string[] }
  return { ...resource, supportedProfile: [...new Set([...own, ...[...mine].toSorted()])] }
}

const statement = (baseUrl: string, date: string): Resource => ({
  resourceType: 'CapabilityStatement',
  contained: OWN_DEFINITIONS,
  status: 'active',
  date,
  kind: 'instance',
  software: { name: 'FHIR R4 server' },
  implementation: { description: 'FHIR R4 server', url: baseUrl },
  fhirVersion: '4.0.1',
  instantiates: [`${BULK_DATA}/CapabilityStatement/bulk-data`, `${US_CORE}/CapabilityStatement/us-core-server`],
  implementationGuide: [`${BULK_DATA}/ImplementationGuide/hl7.fhir.uv.bulkdata`, `${US_CORE}/ImplementationGuide/hl7.fhir.us.core`],
  format: ['application/fhir+json', 'json'],
  patchFormat: ['application/json-patch+json', 'application/fhir+json'],
})

const rest = (baseUrl: string, resource: readonly Element[], { access }: Choices): Element => ({
  mode: 'server',
  ...(access === 'token' ? { security: security(baseUrl) } : {}),
  resource,
  interaction: SYSTEM.filter(({ route }) => isRouted(route)).map(({ code }) => ({ code })),
  operation: [...operationsOf('system'), APPLY_FHIRPATH],
})

const isRouted = (code: InteractionCode): boolean => ROUTES.some(({ interaction }) => interaction === code)

/** https://hl7.org/fhir/R4/valueset-type-restful-interaction.html */
const TYPE: readonly InteractionCode[] = [
  'read',
  'vread',
  'update',
  'patch',
  'delete',
  'history-instance',
  'history-type',
  'create',
  'search-type',
]

/** https://hl7.org/fhir/R4/valueset-system-restful-interaction.html */
const SYSTEM: readonly { readonly code: string; readonly route: InteractionCode }[] = [
  { code: 'transaction', route: 'bundle' },
  { code: 'batch', route: 'bundle' },
  { code: 'search-system', route: 'search-system' },
  { code: 'history-system', route: 'history-system' },
]

const referencesOf = (type: string): readonly SearchParameter[] => parametersOf(type).filter((parameter) => parameter.type === 'reference')

/** By type, `Type:parameter` of what may refer to it. */
function referring(): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>(resourceTypes.map((type) => [type, []]))
  for (const type of resourceTypes)
    for (const { code, targets } of referencesOf(type)) for (const target of targets) found.get(target)?.push(`${type}:${code}`)
  return found
}

/** An array is never empty. https://hl7.org/fhir/R4/json.html */
const some = (name: string, values: readonly unknown[]): Element => (values.length === 0 ? {} : { [name]: values })

const resourceOf = (type: string, { versioning }: Choices, from: readonly string[]): Element => ({
  ...some('extension', combinationsOf(type)),
  type,
  ...some('supportedProfile', profilesOf(type)),
  interaction: TYPE.filter((code) => isRouted(code) && (versioning || code !== 'vread')).map((code) => ({ code })),
  versioning: versioning ? 'versioned-update' : 'no-version',
  readHistory: versioning,
  updateCreate: true,
  conditionalCreate: true,
  conditionalRead: 'full-support',
  conditionalUpdate: true,
  conditionalDelete: 'single',
  referencePolicy: ['literal', 'local'],
  searchInclude: [...new Set(['*', ...referencesOf(type).map(({ code }) => `${type}:${code}`), ...includesOf(type)])],
  searchRevInclude: ['*', ...from],
  searchParam: parametersOf(type)
    .filter(isSearchable)
    .map(({ code, type: kind, url }) => ({ name: code, definition: url, type: kind })),
  operation: operationsOf(type),
})
