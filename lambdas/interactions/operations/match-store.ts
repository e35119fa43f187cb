/** Stores the result of a match for a partner. The partner itself may not write these types. */
import { WHOLE_ACCESS } from '../../access/access.ts'
import type { Resource } from '../../fhir/resource.ts'
import type { FoundMatch, MatchOwner } from '../../partners/bulk/found-match.ts'
import { forEachInParallel } from '../../ports/execution/parallel.ts'
import type { ResourceKey } from '../../ports/store/resource-store.ts'
import type { SearchContext } from '../../search/search-context.ts'
import type { FhirRequest, WrittenVersion } from '../interaction.ts'
import { type NextVersionPorts, prepareVersion } from '../writing/next-version.ts'
import { MAX_WRITE_ATTEMPTS, type PreparedWrite, tooManyConflicts, type WritePorts } from '../writing/write-loop.ts'
import { deletionTimeOf, type RowPorts, retainConsents, scheduleDeletion } from './match-rows.ts'

export type MatchStorePorts = NextVersionPorts & Pick<WritePorts, 'heads' | 'writer'> & RowPorts

/** Returns the current search context of a tenant. */
export type ReadingOf = (tenant: string) => Promise<SearchContext>

/**
 * Stores the Group and the Consents of a match that fits into one commit. Returns the new versions. Does not change a resource that exists.
 */
export async function storeSmallMatch(
  ports: MatchStorePorts,
  request: FhirRequest,
  { group, consents }: FoundMatch,
): Promise<readonly WrittenVersion[]> {
  const due = await scheduleMatch(ports, { ...request, id: group.id! }, { group, consents }, request.reading)
  return storeAbsent(ports, request, [group, ...consents], due)
}

/** Stores the rows of the match. Returns the time at which it is deleted. */
async function scheduleMatch(
  ports: RowPorts,
  { id, tenant, client, baseUrl }: MatchOwner,
  { group, consents }: FoundMatch,
  { timeZone }: SearchContext,
): Promise<number> {
  const due = deletionTimeOf(group, timeZone)
  await scheduleDeletion(ports, { owner: { id, tenant, client, baseUrl }, consents: consents.map((each) => each.id!), due })
  return due
}

/**
 * Stores the resources in one commit, under their ids. Returns the new versions. Does not change a resource that exists. A Consent is
 * retained until `due`.
 */
async function storeAbsent(
  ports: MatchStorePorts,
  request: FhirRequest,
  resources: readonly Resource[],
  due: number,
): Promise<readonly WrittenVersion[]> {
  const { tenant } = request
  const asServer: FhirRequest = { ...request, access: WHOLE_ACCESS, interaction: 'create' }
  const keys = resources.map(({ resourceType, id }): ResourceKey => ({ tenant, type: resourceType, id: id! }))
  for (let attempt = 0; attempt < MAX_WRITE_ATTEMPTS; attempt++) {
    const prepared: PreparedWrite[] = []
    const stored: ResourceKey[] = []
    // guard: stored-match-stays
    for (const [i, head] of (await ports.heads(keys)).entries())
      if (head === undefined || (!('damage' in head) && head.deleted))
        prepared.push(await prepareVersion(ports, asServer, { kind: 'target', key: keys[i]! }, head, resources[i]!))
      else if (keys[i]!.type === 'Consent') stored.push(keys[i]!)
    await retainConsents(ports, stored, due)
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

/** Consents of one commit. Small commits let other writes run between them. */
const CONSENTS = 20
/** Commits at the same time. They share a flush. */
const COMMITS = 4

/** Returns the function that stores the result of a job. It stores the Group last, so a stored Group always has its Consents. */
export const matchStore =
  (ports: MatchStorePorts, readingOf: ReadingOf): MatchStore =>
  async (owner, { group, consents }) => {
    const reading = await readingOf(owner.tenant)
    const request = serverRequestOf(owner, reading)
    const due = await scheduleMatch(ports, owner, { group, consents }, reading)
    const commits = Array.from({ length: Math.ceil(consents.length / CONSENTS) }, (_, i) => i * CONSENTS)
    await forEachInParallel(commits, COMMITS, (first) => storeAbsent(ports, request, consents.slice(first, first + CONSENTS), due))
    await storeAbsent(ports, request, [group], due)
  }

/** Returns the request of a write by the server itself. */
export const serverRequestOf = ({ id, tenant, client, baseUrl }: MatchOwner, reading: SearchContext): FhirRequest => ({
  ...{ tenant, client, baseUrl, reading, requestId: id, access: WHOLE_ACCESS, user: undefined, clientAuth: 'assertion' },
  ...{ parameters: [], posted: true, preconditions: {}, preferences: { return: 'minimal' }, interaction: 'create' },
})
