/**
 * Reads definitions that tenants stored, and converts them to the form that validation uses.
 * https://hl7.org/fhir/R4/structuredefinition.html
 */
import { isConstraintOfR4 } from '../../fhir/definitions/constraint-keys.ts'
import { parseJsonBytes } from '../../fhir/json.ts'
import type { Profile } from '../../fhir/profile/definition.ts'
import { withoutBaseRules } from '../../fhir/profile/definitions/base-rule-filter.ts'
import { LruCache } from '../../fhir/profile/definitions/lru-cache.ts'
import { reduceProfile, UnusableDefinition } from '../../fhir/profile/definitions/reduced-profile.ts'
import { reduceCodeSystem, reduceValueSet } from '../../fhir/profile/definitions/slim-value-set.ts'
import { unsupportedReasonOf } from '../../fhir/profile/definitions/supported-definitions.ts'
import type { CodeSystem, ValueSet } from '../../fhir/profile/value-set.ts'
import type { Resource } from '../../fhir/resource.ts'
import type { ResourceVersion } from '../../ports/store/resource-store.ts'
import { yieldNow } from '../time-slices.ts'

export type UsableDefinition = Profile | ValueSet | CodeSystem

/**
 * Definition of a tenant. `content`: returns the form that validation uses, or the reason why it cannot be used. Returns undefined if the
 * codes are not listed or the definition is too large. It is computed by the first call.
 */
export type TenantDefinition = {
  readonly url?: unknown
  readonly version?: string
  readonly isRetired: boolean
  readonly lastUpdated: number
  readonly content: () => Content
}

type Content = UsableDefinition | UnusableDefinition | undefined

/** Maximum bytes of a definition. Reading a larger one would delay other requests, so it takes no part in validation. */
export const MAX_DEFINITION_BYTES = 5_000_000

/**
 * Returns the form that validation uses, or an UnusableDefinition with the reason why validation ignores the definition. Returns undefined
 * for a ValueSet or CodeSystem that does not list its codes. `bytes`: size of its body.
 */
export function contentOf(resource: Resource, bytes: number): Content {
  if (bytes > MAX_DEFINITION_BYTES) return new UnusableDefinition(`It is larger than ${MAX_DEFINITION_BYTES} bytes`)
  if (resource.resourceType === 'ValueSet') return reduceValueSet(resource)
  if (resource.resourceType === 'CodeSystem') return reduceCodeSystem(resource)
  const reason = unsupportedReasonOf(resource)
  return reason === undefined ? profileOf(resource) : new UnusableDefinition(reason)
}

function profileOf(resource: Resource): Profile | UnusableDefinition {
  try {
    return withoutBaseRules(reduceProfile(resource, isConstraintOfR4))
  } catch (error) {
    if (error instanceof UnusableDefinition) return error
    throw error
  }
}

export function parseDefinition({ body, lastUpdated }: ResourceVersion): TenantDefinition {
  if (body.length > MAX_DEFINITION_BYTES) return { isRetired: false, lastUpdated, content: () => undefined }
  const { url, version, status } = parseJsonBytes(body) as Resource
  let made: { readonly content: Content } | undefined
  return {
    url,
    ...(typeof version === 'string' ? { version } : {}),
    isRetired: status === 'retired',
    lastUpdated,
    content() {
      made ??= { content: contentOf(parseJsonBytes(body) as Resource, body.length) }
      return made.content
    },
  }
}

/** Maximum bytes of cached definitions, counted by their bodies. Above it, those unused for longest are discarded. */
const MOST_KEPT = 50_000_000

/** Reads definitions and caches them by version. The cache keeps those that were used last. */
export class DefinitionReader {
  readonly #kept: LruCache<TenantDefinition>

  constructor(most = MOST_KEPT) {
    this.#kept = new LruCache(most)
  }

  async read(version: ResourceVersion): Promise<TenantDefinition> {
    const { tenant, type, id, versionId, body } = version
    // guard: cached-definition-of-tenant
    const name = JSON.stringify([tenant, type, id, versionId])
    if (!this.#kept.has(name)) await yieldNow()
    const known = this.#kept.get(name)
    if (known !== undefined) return known
    const definition = parseDefinition(version)
    this.#kept.set(name, definition, body.length)
    return definition
  }
}
