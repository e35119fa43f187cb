/**
 * Searches of a partner with a member in context. The index cannot decide which resources the partner may receive. So the server reads the
 * resources of the member first, and the search finds only those that a read shows. Totals, order and groups are exact.
 */
import type { Access } from '../../access/access.ts'
import { LISTED_PARTNER_TYPES, withSearchable } from '../../access/partner-access.ts'
import { ruleFor } from '../../access/rules.ts'
import { fhirError } from '../../fhir/outcome.ts'
import { ALWAYS_TRUE, type HitPosition } from '../../ports/search/plan.ts'
import type { Searches } from '../../ports/search/search-index.ts'
import type { FhirRequest, Ports } from '../interaction.ts'
import { readUpTo } from './bounded-reads.ts'
import { MAX_PAGE_BYTES } from './page-limits.ts'

type MemberPorts = Pick<Ports, 'resources'> & { readonly index: Pick<Searches, 'find'> }

/** Maximum resources of listed types that are read for a search. For a member with more, the request is answered 403. */
export const MAX_MEMBER_RESOURCES = 20_000
/** Maximum hits of one lookup. */
const MAX_HITS = 1_000

/**
 * Returns the request with the ids of the resources that its searches may find. Returns requests of other callers unchanged. The entries of
 * a Bundle share the ids. A partner cannot write, so no entry changes the ids.
 */
export async function withMemberData(ports: MemberPorts, request: FhirRequest): Promise<FhirRequest> {
  const { access, shared = {} } = request
  if (access.partner?.limits === undefined) return request
  shared.searchable ??= searchableAccess(ports, request)
  return { ...request, access: await shared.searchable }
}

async function searchableAccess(ports: MemberPorts, request: FhirRequest): Promise<Access> {
  const { access, tenant, reading } = request
  const rules = LISTED_PARTNER_TYPES.flatMap((type) => {
    const rule = ruleFor(access, type, 'r', reading)
    return rule === undefined ? [] : [[type, rule] as const]
  })
  const plan = {
    ...{ tenant, types: rules.map(([type]) => type), where: ALWAYS_TRUE, access: Object.fromEntries(rules) },
    ...{ order: [], limit: MAX_HITS, total: 'none' as const },
  }
  const seen = ports.resources({ ...request, showsNone: true }, 'r')
  const ids = new Map(rules.map(([type]) => [type, [] as string[]]))
  let count = 0
  for (let after: HitPosition | undefined, isMore = rules.length > 0; isMore; ) {
    const { hits, more } = await ports.index.find({ ...plan, ...(after === undefined ? {} : { after }) })
    count += hits.length
    if (count > MAX_MEMBER_RESOURCES) throw tooMany()
    for (let at = 0; at < hits.length; ) {
      // Read the version in the index, because the search shows that version.
      const keys = hits.slice(at).map(({ type, id, version }) => ({ tenant, type, id, versionId: version }))
      const versions = await readUpTo(MAX_PAGE_BYTES, keys, seen.versions)
      for (const version of versions) if (version !== undefined) ids.get(version.type)?.push(version.id)
      at += versions.length
    }
    after = hits.at(-1)?.position
    isMore = more
  }
  return withSearchable(access, ids)
}

const tooMany = () =>
  fhirError(
    403,
    'too-costly',
    `The member has more than ${MAX_MEMBER_RESOURCES} resources with a date and Provenances, which is too many for a search: use Group/[id]/$davinci-data-export`,
  )
