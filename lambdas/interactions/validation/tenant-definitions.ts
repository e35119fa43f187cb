/**
 * Combines the definitions that a tenant and the shared tenant stored with those of packages. A canonical URL that a package defines never
 * refers to a stored definition. https://hl7.org/fhir/R4/profiling.html
 */
import { writeJson } from '../../fhir/json.ts'
import type { Issue } from '../../fhir/outcome.ts'
import { splitCanonical } from '../../fhir/profile/canonical.ts'
import type { Profile } from '../../fhir/profile/definition.ts'
import { MAX_CANONICAL_LENGTH } from '../../fhir/profile/definitions/missing-definitions.ts'
import { UnusableDefinition } from '../../fhir/profile/definitions/reduced-profile.ts'
import { findUnknownNames } from '../../fhir/profile/definitions/unknown-names.ts'
import type { Resource } from '../../fhir/resource.ts'
import type { Canonicals, DefinitionType } from '../../ports/definitions/canonicals.ts'
import type { Conformance, ConformanceLookup } from '../../ports/definitions/conformance.ts'
import { comparePrecedence } from '../../ports/definitions/version-order.ts'
import { isFault } from '../../ports/faults.ts'
import type { ResourceReader } from '../../ports/store/resource-store.ts'
import { contentOf, DefinitionReader, type TenantDefinition } from './definition-reader.ts'

export type TenantDefinitionsParts = {
  readonly packages: Conformance
  readonly canonicals: Canonicals
  readonly resources: Pick<ResourceReader, 'current'>
  /** Tenant with definitions for all tenants. Absent or empty: no shared tenant. */
  readonly sharedTenant?: string
}

/** Finds a definition by canonical. Throws UnusableDefinition as Conformance does. */
type Find<Found> = (canonical: string) => Promise<Found | undefined>

export function tenantDefinitions({ packages, canonicals, resources, sharedTenant = '' }: TenantDefinitionsParts): ConformanceLookup {
  const reader = new DefinitionReader()
  /** Returns the stored definition of the tenant for the canonical URL. Without a version, the definition with the highest precedence. */
  const definitionIn = async (tenant: string, type: DefinitionType, canonical: string): Promise<TenantDefinition | undefined> => {
    const { url, version } = splitCanonical(canonical)
    let best: TenantDefinition | undefined
    for await (const keys of canonicals.carrying(tenant, type, url))
      for (const key of keys) {
        const [head] = await resources.current([key])
        if (head === undefined || head.deleted) continue
        const each = await reader.read(head)
        const isMeant = each.url === url && (version === undefined || each.version === version)
        if (isMeant && (best === undefined || compareDefinitions(each, best) < 0)) best = each
      }
    return best
  }
  /** Returns the definition of the first tenant that has one. Returns a retired definition only if no tenant has another. */
  const firstOf = async (tenants: readonly string[], type: DefinitionType, canonical: string): Promise<TenantDefinition | undefined> => {
    let retired: TenantDefinition | undefined
    for (const tenant of tenants) {
      const found = await definitionIn(tenant, type, canonical)
      if (found?.isRetired === false) return found
      retired ??= found
    }
    return retired
  }
  return async (tenant) => {
    const possible = sharedTenant === '' || sharedTenant === tenant ? [tenant] : [tenant, sharedTenant]
    const states = await Promise.all(possible.map((each) => canonicals.state(each)))
    const tenants = possible.filter((_, i) => states[i] !== '')
    if (tenants.length === 0) return packages
    /** Returns a lookup that tries packages first. It ignores the stored definitions if a package has any version of the URL. */
    const finder =
      <Found>(find: Find<Found>, type: DefinitionType): Find<Found> =>
      async (canonical) => {
        const { url, version } = splitCanonical(canonical)
        const loaded = await find(canonical)
        if (loaded !== undefined || (version !== undefined && (await find(url)) !== undefined)) return loaded
        const content = (await firstOf(tenants, type, canonical))?.content()
        if (!(content instanceof UnusableDefinition)) return content as Found | undefined
        // An unusable profile throws its reason. An unusable ValueSet or CodeSystem counts as missing: its codes are unknown.
        if (type === 'StructureDefinition') throw content
        return undefined
      }
    return {
      profile: finder(packages.profile, 'StructureDefinition'),
      valueSet: finder(packages.valueSet, 'ValueSet'),
      codeSystem: finder(packages.codeSystem, 'CodeSystem'),
      damage: packages.damage,
      state: async () => `${await packages.state()}${states.join('')}`,
    }
  }
}

type Placed = Pick<TenantDefinition, 'version' | 'isRetired' | 'lastUpdated'>

/**
 * Compares definitions of one canonical URL: the one with precedence first. Retired ones are last, then the higher version is first, then
 * the one written last.
 */
export const compareDefinitions = (a: Placed, b: Placed): number => comparePrecedence(a, b) || b.lastUpdated - a.lastUpdated

/** Returns the warnings for a definition that is stored: why it takes no part in validation, or which of its parts do not. */
export async function definitionIssuesOf(packages: Conformance, resource: Resource): Promise<readonly Issue[]> {
  const { resourceType, url, status } = resource
  if (typeof url !== 'string') return [told(resourceType, 'It has no url: it takes no part in validation')]
  if (url.length > MAX_CANONICAL_LENGTH)
    return [told(`${resourceType}.url`, `It is longer than ${MAX_CANONICAL_LENGTH} characters: it takes no part in validation`)]
  const find = { StructureDefinition: packages.profile, ValueSet: packages.valueSet, CodeSystem: packages.codeSystem }[
    resourceType as DefinitionType
  ]
  const loaded = await reached<unknown>(find(url))
  if (loaded === OUT_OF_REACH) return [{ severity: 'warning', code: 'incomplete', expression: `${resourceType}.url`, text: UNASKED }]
  if (loaded !== undefined)
    return [told(`${resourceType}.url`, 'R4 or a package of this server defines this canonical, which stays what it is')]
  const content = contentOf(resource, Buffer.byteLength(writeJson(resource)))
  if (content instanceof UnusableDefinition) return [told(resourceType, `It takes no part in validation: ${content.message}`)]
  if (content === undefined) return [told(resourceType, 'It takes no part in validation: It does not say which codes it has')]
  if (status === 'retired') return [told(`${resourceType}.status`, 'It is retired: it takes no part in validation')]
  const misnamed = resourceType === 'StructureDefinition' ? findUnknownNames(resource, await baseOf(resource, packages)) : []
  return [...tooLongWith(resource), ...misnamed]
}

const tooLongWith = ({ resourceType, url, version }: Resource): readonly Issue[] =>
  typeof version !== 'string' || `${url}|${version}`.length <= MAX_CANONICAL_LENGTH
    ? []
    : [
        told(
          `${resourceType}.version`,
          `It is found without its version only: both together are longer than ${MAX_CANONICAL_LENGTH} characters`,
        ),
      ]

/** Returns the base profile if a package has it. A base that the tenant wrote is not looked up. */
async function baseOf({ baseDefinition }: Resource, packages: Conformance): Promise<Profile | undefined> {
  const base = typeof baseDefinition === 'string' ? await reached(packages.profile(baseDefinition)) : undefined
  return base === OUT_OF_REACH ? undefined : base
}

const UNASKED = 'The packages of this server are out of reach: if one defines this canonical, it stays what it is'

const OUT_OF_REACH = Symbol('out of reach')

/** Returns OUT_OF_REACH instead of throwing if the packages are unavailable, because writes must not fail for that. */
async function reached<Found>(found: Promise<Found>): Promise<Found | typeof OUT_OF_REACH> {
  try {
    return await found
  } catch (error) {
    if (isFault(error, 'unavailable')) return OUT_OF_REACH
    throw error
  }
}

const told = (expression: string, text: string): Issue => ({ severity: 'warning', code: 'business-rule', expression, text })
