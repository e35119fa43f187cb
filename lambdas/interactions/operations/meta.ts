/**
 * `$meta` of a resource: returns its meta. `$meta` of a type or the server: returns the profiles, security labels and tags of visible
 * resources. Each value appears once. A profile that resources declare only with a version is returned only with that version.
 * https://hl7.org/fhir/R4/resource-operation-meta.html
 */
import { parseJsonBytes } from '../../fhir/json.ts'
import { fhirError } from '../../fhir/outcome.ts'
import { withoutVersion } from '../../fhir/profile/canonical.ts'
import type { Element, Resource } from '../../fhir/resource.ts'
import { resourceTypes } from '../../fhir/resource-types.ts'
import { ALWAYS_TRUE, and, type Matching, not, type Predicate } from '../../ports/search/plan.ts'
import type { Searches } from '../../ports/search/search-index.ts'
import type { FhirRequest, Interaction, Ports } from '../interaction.ts'
import { keyOf } from '../resources/request-key.ts'
import { withSharedDefinitions } from '../resources/shared-definitions.ts'
import { readCurrentVersion } from '../resources/version-response.ts'
import { withMemberData } from '../searching/member-data.ts'
import { searchAccessOf } from '../searching/request-search-access.ts'
import { mapInSlices } from '../time-slices.ts'

type MetaPorts = Pick<Ports, 'resources'> & { readonly index: Pick<Searches, 'find' | 'distinct'> }

export const meta =
  (ports: MetaPorts): Interaction =>
  async (request) => {
    if (request.id === undefined) return { status: 200, body: returned(await metaInUse(ports, await withMemberData(ports, request))) }
    const seen = withSharedDefinitions(request, ports.resources(request, 'r'))
    const { body, compartments: about } = await readCurrentVersion(seen, keyOf(request))
    return { status: 200, about, body: returned((parseJsonBytes(body) as { readonly meta?: Element }).meta ?? {}) }
  }

/** Maximum distinct profiles, labels or tags, each. If there are more, the request is answered 403. */
const MOST = 10_000

async function metaInUse({ index }: MetaPorts, request: FhirRequest): Promise<Element> {
  const { tenant, type } = request
  const searcher = searchAccessOf(request)
  const types = type === undefined ? searcher.within(resourceTypes) : [type]
  // guard: meta-applies-access
  const matching: Matching = { tenant, types, where: ALWAYS_TRUE, access: searcher.rules(types) }
  const [canonicals, labels, tags] = await Promise.all(
    ['_profile', '_security', '_tag'].map(async (field) => {
      const keys = await index.distinct(matching, field, MOST + 1)
      if (keys.length > MOST) throw fhirError(403, 'too-costly', `More than ${MOST} values of ${field} are in use: ask for one type`)
      return keys.toSorted()
    }),
  )
  const profile = await profilesAmong(index, matching, canonicals!)
  return {
    ...(profile.length === 0 ? {} : { profile }),
    ...(labels!.length === 0 ? {} : { security: labels!.map(codingOf) }),
    ...(tags!.length === 0 ? {} : { tag: tags!.map(codingOf) }),
  }
}

/**
 * Returns the canonicals without those that only the index adds: it stores each versioned canonical also without version. A canonical
 * without version is therefore returned only if some resource has it and none of its versions.
 */
async function profilesAmong(index: MetaPorts['index'], matching: Matching, canonicals: readonly string[]): Promise<readonly string[]> {
  const versions = Map.groupBy(
    canonicals.filter((canonical) => canonical.includes('|')),
    withoutVersion,
  )
  const isInUse = async (canonical: string): Promise<boolean> => {
    const known = versions.get(canonical)
    if (known === undefined) return true
    const where = and(ofProfiles([canonical]), not(ofProfiles(known)))
    const { hits } = await index.find({ ...matching, where, order: [], limit: 1, total: 'none' })
    return hits.length > 0
  }
  const areInUse = await Promise.all(await mapInSlices(canonicals, isInUse))
  return canonicals.filter((_, i) => areInUse[i])
}

const ofProfiles = (oneOf: readonly string[]): Predicate => ({ kind: 'key', field: '_profile', oneOf })

/** Returns the Coding of an index key `system|code`. Either part may be empty. */
function codingOf(key: string): Element {
  const at = key.indexOf('|')
  const [system, code] = [key.slice(0, at), key.slice(at + 1)]
  return { ...(system === '' ? {} : { system }), ...(code === '' ? {} : { code }) }
}

/**
 * Meta of resources without profiles, labels and tags, because an element must not be empty. https://hl7.org/fhir/R4/element.html#Element
 */
const NOTHING: Element = {
  extension: [{ url: 'http://hl7.org/fhir/StructureDefinition/data-absent-reason', valueCode: 'not-applicable' }],
}

const returned = (meta: Element): Resource => ({
  resourceType: 'Parameters',
  parameter: [{ name: 'return', valueMeta: Object.keys(meta).length === 0 ? NOTHING : meta }],
})
