/**
 * Deletes the Groups of matches, and the Consents that were stored with them, 30 days after the period of the Group ended. The names of the
 * rows contain the day of deletion, so no search is necessary. Consents without a Group are deleted too.
 */
import { forEachCollectingErrors } from '../../export/job/error-aggregation.ts'
import { parseJsonBytes } from '../../fhir/json.ts'
import type { Resource } from '../../fhir/resource.ts'
import type { ResourceKey } from '../../ports/store/resource-store.ts'
import type { FhirRequest } from '../interaction.ts'
import { prepareDeletion } from '../writing/next-version.ts'
import { MAX_WRITE_ATTEMPTS, tooManyConflicts } from '../writing/write-loop.ts'
import {
  DAY_LENGTH,
  deletionDayOf,
  deletionTimeOf,
  MATCH_ROWS,
  type MatchRow,
  postponeDeletion,
  retainConsents,
  type SharedConsentRow,
  sharedConsentNameOf,
} from './match-rows.ts'
import { type MatchStorePorts, type ReadingOf, serverRequestOf } from './match-store.ts'

/** Maximum Consents of one commit. Small commits let other writes run between them. */
const CONSENTS = 20

/**
 * Deletes the due matches, even if some deletions fail. Begins no further deletion after `budget` milliseconds. The next call continues,
 * and repeats failed deletions.
 */
export async function deleteEndedMatches(ports: MatchStorePorts, readingOf: ReadingOf, budget: number): Promise<void> {
  const start = ports.clock.now()
  const due = async function* () {
    for await (const row of ports.rows.list<MatchRow>(MATCH_ROWS)) {
      const now = ports.clock.now()
      if (row.name.slice(0, DAY_LENGTH) > deletionDayOf(now) || now - start > budget) return
      if (row.value.due <= now) yield row
    }
  }
  await forEachCollectingErrors(due(), ({ name, value }) => deleteMatch(ports, readingOf, name, value))
}

async function deleteMatch(ports: MatchStorePorts, readingOf: ReadingOf, name: string, { owner, consents }: MatchRow): Promise<void> {
  const { id, tenant } = owner
  const reading = await readingOf(tenant)
  const key = { tenant, type: 'Group', id }
  const due = deletionTimeOf((await currentOf(ports, key)) ?? NONE, reading.timeZone)
  // guard: prolonged-match-stays
  if (due > ports.clock.now()) {
    const keys = consents.map((each) => ({ tenant, id: each }))
    await retainConsents(ports, keys, due)
    return postponeDeletion(ports, name, { owner, consents, due })
  }
  const request = serverRequestOf(owner, reading)
  for (let first = 0; first < consents.length; first += CONSENTS)
    await deleteConsents(ports, request, consents.slice(first, first + CONSENTS))
  await deletePresent(ports, request, [key])
  await ports.rows.remove(MATCH_ROWS, name)
}

const NONE: Resource = { resourceType: 'Group' }

async function currentOf({ heads }: MatchStorePorts, key: ResourceKey): Promise<Resource | undefined> {
  const [head] = await heads([key])
  if (head === undefined || 'damage' in head || head.deleted) return undefined
  return parseJsonBytes(head.body) as Resource
}

async function deleteConsents(ports: MatchStorePorts, request: FhirRequest, ids: readonly string[]): Promise<void> {
  const { tenant } = request
  const now = ports.clock.now()
  const ended: ResourceKey[] = []
  for (const id of ids) {
    const shared = await ports.rows.read<SharedConsentRow>(MATCH_ROWS, sharedConsentNameOf({ tenant, id }))
    // guard: consent-of-later-match-stays
    if (shared !== undefined && shared.due > now) continue
    ended.push({ tenant, type: 'Consent', id })
  }
  await deletePresent(ports, request, ended)
  for (const each of ended) await ports.rows.remove(MATCH_ROWS, sharedConsentNameOf(each))
}

/** Deletes the resources in one commit. Skips missing and deleted resources. */
async function deletePresent(ports: MatchStorePorts, request: FhirRequest, keys: readonly ResourceKey[]): Promise<void> {
  for (let attempt = 0; attempt < MAX_WRITE_ATTEMPTS; attempt++) {
    const heads = keys.length === 0 ? [] : await ports.heads(keys)
    const writes = heads.flatMap((head, i) =>
      head === undefined || (!('damage' in head) && head.deleted)
        ? []
        : [prepareDeletion(ports.clock, keys[i]!, head, request.reading).write],
    )
    if (writes.length === 0 || (await ports.writer.commit(writes, [], request)).kind === 'committed') return
  }
  throw tooManyConflicts()
}
