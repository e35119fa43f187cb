/** Stores what a match found for a partner, which may not write these types itself. */
import { WHOLE_ACCESS } from '../../access/access.ts'
import type { Resource } from '../../fhir/resource.ts'
import type { FoundMatch, MatchOwner } from '../../partners/bulk/found-match.ts'
import type { ResourceKey } from '../../ports/store/resource-store.ts'
import type { SearchContext } from '../../search/search-context.ts'
import type { FhirRequest, WrittenVersion } from '../interaction.ts'
import { type NextVersionPorts, prepareVersion } from '../writing/next-version.ts'
import { MAX_WRITE_ATTEMPTS, type PreparedWrite, tooManyConflicts, type WritePorts } from '../writing/write-loop.ts'

export type MatchStorePorts = NextVersionPorts & Pick<WritePorts, 'heads' | 'writer'>

/** Stores the resources in one commit, under their ids. Returns the new versions. A resource that exists already stays as it is. */
export async function storeAbsent(
  ports: MatchStorePorts,
  request: FhirRequest,
  resources: readonly Resource[],
): Promise<readonly WrittenVersion[]> {
  const { tenant } = request
  const asServer: FhirRequest = { ...request, access: WHOLE_ACCESS, interaction: 'create' }
  const keys = resources.map(({ resourceType, id }): ResourceKey => ({ tenant, type: resourceType, id: id! }))
  for (let attempt = 0; attempt < MAX_WRITE_ATTEMPTS; attempt++) {
    const prepared: PreparedWrite[] = []
    // guard: stored-match-stays
    for (const [i, head] of (await ports.heads(keys)).entries())
      if (head === undefined || (!('damage' in head) && head.deleted))
        prepared.push(await prepareVersion(ports, asServer, { kind: 'target', key: keys[i]! }, head, resources[i]!))
    if (prepared.length === 0) return []
    const result = await ports.writer.commit(
      prepared.map(({ write }) => write),
      [],
      asServer,
    )
    if (result.kind === 'committed') return prepared.flatMap(({ response }) => response.written ?? [])
  }
  throw tooManyConflicts()
}

/** Stores the result of a job. */
export type MatchStore = (owner: MatchOwner, found: FoundMatch) => Promise<void>

/** Consents of one commit. Many small commits let other writes in between. */
const CONSENTS = 20

/** Returns the function that stores the result of a job. The Group is stored last: when it exists, its Consents do. */
export const matchStore =
  (ports: MatchStorePorts, readingOf: (tenant: string) => Promise<SearchContext>): MatchStore =>
  async (owner, { group, consents }) => {
    const request = serverRequestOf(owner, await readingOf(owner.tenant))
    for (let first = 0; first < consents.length; first += CONSENTS)
      await storeAbsent(ports, request, consents.slice(first, first + CONSENTS))
    await storeAbsent(ports, request, [group])
  }

const serverRequestOf = ({ id, tenant, client, baseUrl }: MatchOwner, reading: SearchContext): FhirRequest => ({
  ...{ tenant, client, baseUrl, reading, requestId: id, access: WHOLE_ACCESS, user: undefined, clientAuth: 'assertion' },
  ...{ parameters: [], posted: true, preconditions: {}, preferences: { return: 'minimal' }, interaction: 'create' },
})
