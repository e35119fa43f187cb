/**
 * FHIR capabilities: creates the CapabilityStatement from the catalogue, the R4 types, the parameter registry and the packages. It
 * therefore claims only what exists. https://hl7.org/fhir/R4/http.html#capabilities, https://hl7.org/fhir/R4/capabilitystatement.html
 */
import { INTERACTIONS } from '../../catalogue/catalogue.ts'
import { COMPARTMENT_TYPES } from '../../fhir/compartment.ts'
import { withoutVersion } from '../../fhir/profile/canonical.ts'
import type { Element, Resource } from '../../fhir/resource.ts'
import { resourceTypes } from '../../fhir/resource-types.ts'
import { toInstant } from '../../fhir/version.ts'
import type { AddedGuides } from '../../ports/definitions/package-definitions.ts'
import type { CustomMapping } from '../../search/custom-mapping.ts'
import { parametersOf, type SearchParameter } from '../../search/parameters.ts'
import { isSearchable } from '../../search/query/criterion.ts'
import type { SearchContext } from '../../search/search-context.ts'
import type { Choices, Interaction, Ports, ProfilesByType } from '../interaction.ts'
import { missingCapabilities } from './missing-capabilities.ts'
import { securityOf } from './oauth-uris.ts'
import { BULK_DATA_URL, operationsOf, SERVER_OPERATIONS } from './operation-claims.ts'
import { SERVER_EXTENSIONS, SERVER_PARAMETERS, serverProfilesOf } from './own-definitions.ts'
import { publicDocumentationOf, publicSecurityOf } from './public-claims.ts'
import { SERVER_VERSION } from './server-version.ts'
import { combinationsOf, includesOf, profilesOf, US_CORE_URL } from './us-core-claims.ts'

type CapabilityPorts = Pick<Ports, 'clock' | 'choices' | 'profilesOf' | 'guidesOf'>

export const capabilities = ({ clock, choices, profilesOf: added, guidesOf }: CapabilityPorts): Interaction => {
  const started = toInstant(clock.now())
  // Create the resources at the first request, because most processes never serve one.
  let resources: readonly Element[] | undefined
  return async ({ baseUrl, reading, tenant }) => {
    resources ??= resourcesOf(choices)
    const [profiles, guides = NO_GUIDES] = [await added?.(tenant), await guidesOf?.()]
    const known = resources.map((each) => withProfiles(withCustom(each, reading), profiles))
    const claimed = rest(baseUrl, known, choices)
    return { status: 200, headers: MAY_BE_KEPT, body: { ...statement(baseUrl, started, guides, claimed), rest: [claimed] } }
  }
}

const NO_GUIDES: AddedGuides = { guides: [], requirements: [] }

/** Returns the element `rest` of the CapabilityStatement of a server with these settings and custom parameters. */
export const claimsOf = (choices: Choices, reading: SearchContext): Element =>
  rest(
    '',
    resourcesOf(choices).map((each) => withCustom(each, reading)),
    choices,
  )

/** Caches may store the statement, because it has no patient data. They must revalidate it before each use, because it may change. */
const MAY_BE_KEPT = { 'cache-control': 'no-cache' }

function resourcesOf(choices: Choices): readonly Element[] {
  const from = referring()
  return resourceTypes.map((type) => resourceOf(type, choices, from.get(type)!))
}

/**
 * Adds the custom search parameters of the tenant, which replace those of R4 with the same code. If several share a code, the first is
 * named, because searches use it.
 */
function withCustom(resource: Element, { custom = [] }: SearchContext): Element {
  const all = custom.filter(({ base }) => base === resource.type)
  const mine = all.filter(({ code }, i) => all.findIndex((each) => each.code === code) === i)
  const referring = custom.filter(({ type, targets = [] }) => type === 'reference' && targets.includes(String(resource.type)))
  if (mine.length + referring.length === 0) return resource
  const codes = new Set<unknown>(mine.map(({ code }) => code))
  const others = (resource.searchParam as readonly Element[]).filter(({ name }) => !codes.has(name))
  return {
    ...resource,
    searchParam: [...others, ...mine.map(({ code, type, url }) => ({ name: code, definition: url, type }))],
    searchInclude: withIncludes(
      resource.searchInclude,
      mine.filter(({ type }) => type === 'reference'),
    ),
    searchRevInclude: withIncludes(resource.searchRevInclude, referring),
  }
}

const withIncludes = (includes: unknown, parameters: readonly CustomMapping[]): readonly unknown[] => [
  ...new Set([...(includes as readonly unknown[]), ...parameters.map(({ base, code }) => `${base}:${code}`)]),
]

/** Adds the profiles that the tenant stored, and those of packages that operators added. */
function withProfiles(resource: Element, added: ProfilesByType | undefined): Element {
  const { supportedProfile: own = [] } = resource as { readonly supportedProfile?: readonly string[] }
  const mine = [...(added?.get(resource.type as string) ?? [])].toSorted()
  return own.length + mine.length === 0 ? resource : { ...resource, supportedProfile: withVersionsIfSeveral([...own, ...mine]) }
}

/** Returns each canonical URL once, without its version. A URL with several versions is returned with each of them. */
function withVersionsIfSeveral(canonicals: readonly string[]): readonly string[] {
  return [...Map.groupBy(new Set(canonicals), withoutVersion)].flatMap(([url, all]) => {
    const versions = all.filter((canonical) => canonical !== url)
    return versions.length > 1 ? versions : [url]
  })
}

const statement = (baseUrl: string, date: string, { guides, requirements }: AddedGuides, claimed: Element): Resource => ({
  ...{ resourceType: 'CapabilityStatement', id: 'fhir-server', contained: [...SERVER_OPERATIONS, ...SERVER_EXTENSIONS] },
  ...{ url: `${baseUrl}/metadata`, version: SERVER_VERSION, name: 'FHIRServer', title: 'FHIR R4 server', publisher: 'FHIR R4 server' },
  status: 'active',
  date,
  kind: 'instance',
  software: { name: 'FHIR R4 server', version: SERVER_VERSION },
  implementation: { description: 'FHIR R4 server', url: baseUrl },
  fhirVersion: '4.0.1',
  instantiates: [
    `${BULK_DATA_URL}/CapabilityStatement/bulk-data`,
    `${US_CORE_URL}/CapabilityStatement/us-core-server`,
    ...requirements.filter((each) => missingCapabilities(each, claimed).length === 0).map(({ canonical }) => canonical),
  ],
  implementationGuide: [
    `${BULK_DATA_URL}/ImplementationGuide/hl7.fhir.uv.bulkdata`,
    `${US_CORE_URL}/ImplementationGuide/hl7.fhir.us.core`,
    ...guides,
  ],
  format: ['application/fhir+json', 'json'],
  patchFormat: ['application/json-patch+json', 'application/fhir+json'],
})

const rest = (baseUrl: string, resource: readonly Element[], choices: Choices): Element => ({
  mode: 'server',
  ...(choices.access === 'token' ? { security: { ...securityOf(baseUrl), ...publicSecurityOf(choices) } } : {}),
  resource,
  interaction: interactionsOf('system', choices),
  searchParam: [...searchParametersOf('Resource'), ...SERVER_PARAMETERS],
  operation: operationsOf('system'),
  compartment: [...COMPARTMENT_TYPES].map((owner) => `http://hl7.org/fhir/CompartmentDefinition/${owner.toLowerCase()}`),
})

/**
 * Returns the claimed interactions of each type, or of the system. https://hl7.org/fhir/R4/valueset-type-restful-interaction.html,
 * https://hl7.org/fhir/R4/valueset-system-restful-interaction.html
 */
function interactionsOf(level: 'type' | 'system', { versioning }: Choices): readonly Element[] {
  const claimed = Object.entries(INTERACTIONS).filter(([, { claim }]) => claim === level)
  const codes = claimed.flatMap(([code]) => (code === 'bundle' ? ['transaction', 'batch'] : [code]))
  return codes.filter((code) => versioning || code !== 'vread').map((code) => ({ code }))
}

const searchParametersOf = (type: string): readonly Element[] =>
  parametersOf(type)
    .filter(isSearchable)
    .map(({ code, type: kind, url }) => ({ name: code, definition: url, type: kind }))

const referencesOf = (type: string): readonly SearchParameter[] => parametersOf(type).filter((parameter) => parameter.type === 'reference')

/** Returns for each type the reference parameters, as `Type:parameter`, that may refer to it. */
function referring(): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>(resourceTypes.map((type) => [type, []]))
  for (const type of resourceTypes)
    for (const { code, targets } of referencesOf(type)) for (const target of targets) found.get(target)?.push(`${type}:${code}`)
  return found
}

/**
 * Returns the element with the values. Returns none if there are no values, because FHIR allows no empty arrays.
 * https://hl7.org/fhir/R4/json.html
 */
const some = (name: string, values: readonly unknown[]): Element => (values.length === 0 ? {} : { [name]: values })

const resourceOf = (type: string, choices: Choices, from: readonly string[]): Element => ({
  ...some('extension', combinationsOf(type)),
  type,
  ...publicDocumentationOf(type, choices),
  ...some('supportedProfile', [...profilesOf(type), ...serverProfilesOf(type)]),
  interaction: interactionsOf('type', choices),
  // `versioned-update` holds even without the setting `versioning`: versions have numbers and If-Match is checked. Only previous versions
  // cannot be read.
  versioning: 'versioned-update',
  readHistory: choices.versioning,
  updateCreate: true,
  conditionalCreate: true,
  conditionalRead: 'full-support',
  conditionalUpdate: true,
  conditionalDelete: 'single',
  referencePolicy: ['literal', 'logical', ...(choices.referentialIntegrity ? ['enforced'] : [])],
  searchInclude: [...new Set(['*', ...referencesOf(type).map(({ code }) => `${type}:${code}`), ...includesOf(type)])],
  searchRevInclude: ['*', ...from],
  searchParam: searchParametersOf(type),
  operation: operationsOf(type),
})
