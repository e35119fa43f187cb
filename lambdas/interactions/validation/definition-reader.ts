/** A definition that somebody wrote, as checks read it. https://hl7.org/fhir/R4/structuredefinition.html */
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

/** `content`: as checks read it, or why they cannot; undefined: it does not say which codes it has. Made when it is first asked for. */
export type TenantDefinition = {
  readonly url?: unknown
  readonly version?: string
  readonly isRetired: boolean
  readonly lastUpdated: number
  readonly content: () => Content
}

type Content = UsableDefinition | UnusableDefinition | undefined

/** Bytes of a definition: a larger one would hold up others while it is read. */
export const MAX_DEFINITION_BYTES = 5_000_000

/** Unusable as a value: why it takes no part in checks. `bytes`: of its body. */
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

/** Bytes of the bodies whose definitions are kept. */
const MOST_KEPT = 50_000_000

/** Reads a version once, as long as there is room: the last used stay. */
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
