/**
 * Rows of matches, by which the server deletes the resources of a match. A row is stored before the resources that it names, so no resource
 * of a failed match stays.
 */
import type { Resource } from '../../fhir/resource.ts'
import type { MatchOwner } from '../../partners/bulk/found-match.ts'
import { groupEndOf } from '../../partners/groups/group-period.ts'
import { forEachInParallel } from '../../ports/execution/parallel.ts'
import type { Rows } from '../../ports/rows/rows.ts'
import type { ResourceKey } from '../../ports/store/resource-store.ts'

/**
 * Owner of the rows of matches, and of the rows of Consents that several matches stored. The name of a match begins with the day of its
 * deletion, so due matches come first.
 */
export const MATCH_ROWS = 'exports/matches'

/** How long a Group is retained after its period, in milliseconds. */
const RETENTION_MS = 30 * 24 * 60 * 60 * 1_000

/** Maximum Consents of one row, because the size of a row is limited. */
const CONSENTS = 1_000

/** `owner`: its id is that of the Group. `consents`: ids. `due`: time of the deletion, in milliseconds since 1970. */
export type MatchRow = { readonly owner: MatchOwner; readonly consents: readonly string[]; readonly due: number }

/** `due`: time at which the last match that stored the Consent is deleted. */
export type SharedConsentRow = { readonly due: number }

export type RowPorts = { readonly rows: Pick<Rows, 'read' | 'change' | 'list' | 'remove'> }

/** Returns the time of the deletion, in milliseconds since 1970. */
export const deletionTimeOf = (group: Resource, timeZone?: string): number => groupEndOf(group, timeZone) + RETENTION_MS

/** Returns the day as `2026-12-31`. A day after the year 9999 becomes its last day. */
export const deletionDayOf = (due: number): string => new Date(Math.min(due, LAST_DAY)).toISOString().slice(0, DAY_LENGTH)

const LAST_DAY = Date.UTC(9999, 11, 31)
/** Length of the day at the beginning of a name. */
export const DAY_LENGTH = 10

/**
 * Returns the name of the row of a Consent. It sorts after the names of matches. It contains the tenant, because ids are unique only within
 * a tenant.
 */
export const sharedConsentNameOf = ({ tenant, id }: Pick<ResourceKey, 'tenant' | 'id'>): string => `consent.${tenant}.${id}`

/** Stores the rows of a match. Repeating it has no further effect. */
export async function scheduleDeletion({ rows }: RowPorts, { owner, consents, due }: MatchRow): Promise<void> {
  for (let first = 0; first === 0 || first < consents.length; first += CONSENTS) {
    const row: MatchRow = { owner, consents: consents.slice(first, first + CONSENTS), due }
    await rows.change<MatchRow>(MATCH_ROWS, `${deletionDayOf(due)}.${owner.id}.${first}`, () => row)
  }
}

/** Replaces a row by a row with a later deletion. */
export async function postponeDeletion({ rows }: RowPorts, name: string, row: MatchRow): Promise<void> {
  const later = `${deletionDayOf(row.due)}${name.slice(DAY_LENGTH)}`
  await rows.change<MatchRow>(MATCH_ROWS, later, () => row)
  if (later !== name) await rows.remove(MATCH_ROWS, name)
}

/** Maximum Consents whose rows are changed at the same time. */
const AT_ONCE = 20

/** Retains Consents of an earlier match until a later match is deleted. `consents`: distinct ids. */
export async function retainConsents(
  { rows }: RowPorts,
  consents: readonly Pick<ResourceKey, 'tenant' | 'id'>[],
  due: number,
): Promise<void> {
  const retain = (consent: Pick<ResourceKey, 'tenant' | 'id'>) =>
    rows.change<SharedConsentRow>(MATCH_ROWS, sharedConsentNameOf(consent), (row) => (row !== undefined && row.due >= due ? row : { due }))
  await forEachInParallel(consents, AT_ONCE, retain)
}
