/** A definition that somebody wrote, as checks read it. https://hl7.org/fhir/R4/structuredefinition.html */
import { isConstraintOfR4 } from '../../fhir/definitions/constraint-keys.ts'
import { parseJsonBytes } from '../../fhir/json.ts'
import type { Profile } from '../../fhir/profile/definition.ts'
import { withoutPlain } from '../../fhir/profile/definitions/base-rule-filter.ts'
import { LatelyUsed } from '../../fhir/profile/definitions/lru-cache.ts'
import { slim, Unusable } from '../../fhir/profile/definitions/reduced-profile.ts'
import { slimCodeSystem, slimValueSet } from '../../fhir/profile/definitions/slim-value-set.ts'
import { whyNotTaken } from '../../fhir/profile/definitions/supported-definitions.ts'
import type { CodeSystem, ValueSet } from '../../fhir/profile/value-set.ts'
import type { Resource } from '../../fhir/resource.ts'
import type { ResourceVersion } from '../../ports/store/resource-store.ts'
import { turn } from '../time-slices.ts'

export type Usable = Profile | ValueSet | CodeSystem

/** `content`: as checks read it, or why they cannot; undefined: it does not say which codes it has. Made when it is first asked for. */
export type Definition = {
  readonly url?: unknown
  readonly version?: string
  readonly isRetired: boolean
  readonly lastUpdated: number
  readonly content: () => Content
}

type Content = Usable | Unusable | undefined

/** Bytes of a definition: a larger one would hold up others while it is read. */
export const LARGEST = 5_000_000

/** Unusable as a value: why it takes no part in checks. `bytes`: of its body. */
export function contentOf(resource: Resource, bytes: number): Content {
  if (bytes > LARGEST) return new Unusable(`It is larger than ${LARGEST} bytes`)
  if (resource.resourceType === 'ValueSet') return slimValueSet(resource)
  if (resource.resourceType === 'CodeSystem') return slimCodeSystem(resource)
  const reason = whyNotTaken(resource)
  return reason === undefined ? profileOf(resource) : new Unusable(reason)
}

function profileOf(resource: Resource): Profile | Unusable {
  try {
    return withoutPlain(slim(resource, isConstraintOfR4))
  } catch (error) {
    if (error instanceof Unusable) return error
    throw error
  }
}

export function definitionIn({ body, lastUpdated }: ResourceVersion): Definition {
  if (body.length > LARGEST) return { isRetired: false, lastUpdated, content: () => undefined }
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
  readonly #kept: LatelyUsed<Definition>

  constructor(most = MOST_KEPT) {
    this.#kept = new LatelyUsed(most)
  }

  async read(version: ResourceVersion): Promise<Definition> {
    const { tenant, type, id, versionId, body } = version
    // guard: cached-definition-of-tenant
    const name = JSON.stringify([tenant, type, id, versionId])
    if (!this.#kept.has(name)) await turn()
    const known = this.#kept.get(name)
    if (known !== undefined) return known
    const definition = definitionIn(version)
    this.#kept.set(name, definition, body.length)
    return definition
  }
}
