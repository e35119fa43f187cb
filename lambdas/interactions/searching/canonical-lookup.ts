/** Lookup of resources by canonical URL. https://hl7.org/fhir/R4/references.html#canonical */
import { parseJsonBytes } from '../../fhir/json.ts'
import type { Resource } from '../../fhir/resource.ts'
import { compareVersions } from '../../ports/definitions/version-order.ts'
import type { Hit } from '../../ports/search/search-index.ts'
import type { ResourceVersion } from '../../ports/store/resource-store.ts'
import { CANONICAL_FIELD, canonicalKeysOf, hasCanonical } from '../../search/canonical.ts'
import type { FhirRequest } from '../interaction.ts'
import { yieldIfDue } from '../time-slices.ts'
import type { ReadVersions } from './bounded-reads.ts'
import { type PagePorts, versionsOf } from './page-entries.ts'
import { searchAccessOf } from './request-search-access.ts'

/** Canonical URLs, with or without a version, and the resource types that each may refer to. */
export type CanonicalTypes = ReadonlyMap<string, ReadonlySet<string>>

/** Maximum hits that are compared. Further hits are ignored. */
const MOST = 10_000
/** Hits whose versions one read requests. */
const AT_ONCE = 100

/** Resources found by canonical URL. `read`: reads the versions of the hits. */
type Called = { readonly hits: readonly Hit[]; readonly read: ReadVersions<Hit> }

/**
 * Finds the visible resource that each URL refers to, if any. A resource of the tenant takes precedence over one of the shared tenant, then
 * the highest version, then the latest change.
 */
export async function findByCanonical(ports: PagePorts, request: FhirRequest, canonicals: CanonicalTypes): Promise<Called> {
  if (canonicals.size === 0) return { hits: [], read: async () => [] }
  const types = [...new Set([...canonicals.values()].flatMap((types) => [...types]))]
  const where = { kind: 'key', field: CANONICAL_FIELD, oneOf: [...canonicals.keys()] } as const
  const matching = { tenant: request.tenant, types, where, access: searchAccessOf(request).rules(types) }
  const { hits } = await ports.index.find({ ...matching, order: [], limit: MOST, total: 'none' })
  const highest = new Map<string, Candidate>()
  // Versions of the last read. Usually it is the only one, and `read` below returns them without reading again.
  let heads = new Map<Hit, ResourceVersion>()
  for (let at = 0; at < hits.length; at += heads.size) {
    const some = hits.slice(at, at + AT_ONCE)
    heads = new Map((await versionsOf(ports, request, some)).map((head, i) => [some[i]!, head]))
    for (const [hit, head] of heads)
      for (const candidate of await candidatesOf(hit, head, request.tenant)) {
        const { name } = candidate
        const known = highest.get(name)
        if (canonicals.get(name)?.has(head.type) && (known === undefined || isHigher(candidate, known))) highest.set(name, candidate)
      }
  }
  return {
    hits: [...new Set([...canonicals.keys()].flatMap((name) => highest.get(name)?.hit ?? []))],
    read: async (some, room) => {
      const known = some.map((hit) => heads.get(hit))
      return known.includes(undefined) ? versionsOf(ports, request, some, room) : known
    },
  }
}

/**
 * Resource with a matching URL. `name`: its URL, alone or with its version. `isOwn`: false for a resource of the shared tenant. Has no
 * body, because there may be many candidates.
 */
type Candidate = {
  readonly hit: Hit
  readonly name: string
  readonly version: string
  readonly lastUpdated: number
  readonly isOwn: boolean
}

async function candidatesOf(hit: Hit, head: ResourceVersion, tenant: string): Promise<readonly Candidate[]> {
  const names = await namesOf(head)
  const [url = '', whole = url] = names
  const { lastUpdated } = head
  return names.map((name) => ({ hit, name, version: whole.slice(url.length + 1), lastUpdated, isOwn: head.tenant === tenant }))
}

const isHigher = (a: Candidate, b: Candidate): boolean =>
  (Number(a.isOwn) - Number(b.isOwn) || compareVersions(a.version, b.version) || a.lastUpdated - b.lastUpdated) > 0

/** Returns, for each resource version with a type that has canonical URLs, its URL alone and with its version. */
export async function canonicalsOfVersions(heads: readonly ResourceVersion[]): Promise<ReadonlyMap<ResourceVersion, readonly string[]>> {
  const found = new Map<ResourceVersion, readonly string[]>()
  for (const head of heads) if (hasCanonical(head.type)) found.set(head, await namesOf(head))
  return found
}

async function namesOf({ body }: ResourceVersion): Promise<readonly string[]> {
  await yieldIfDue()
  return canonicalKeysOf(parseJsonBytes(body) as Resource)
}
