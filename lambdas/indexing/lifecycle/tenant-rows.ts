/**
 * Rows of tenants in the index state: custom parameters, unindexable versions and pending rebuilds, one row of each kind. The entries of a
 * row lack their tenant. An attempt takes all pending rebuilds of a type without writing their rows: a rebuild that it does not take names it in
 * `after`. Pure functions.
 */
import type { CustomParameter, UnindexableVersion } from '../custom-definitions.ts'
import { INVOKED_WITHIN } from './identifier-rows.ts'
import type { IndexState, PendingRebuild } from './state.ts'

/** Letters of the kinds of rows. */
export const KINDS = { definitions: 'D', poisoned: 'U', rebuilds: 'W' } as const

export type PartName = keyof typeof KINDS
export const PARTS = Object.keys(KINDS) as readonly PartName[]

export type TenantEntry = CustomParameter | UnindexableVersion | PendingRebuild

/**
 * `after`: attempt that does not take the rebuild. `of`: attempt that created `done` of `total` documents; the progress of others does not
 * count.
 */
type StoredRebuild = Omit<PendingRebuild, 'tenant' | 'done' | 'total' | 'taken'> & {
  readonly after?: string
  readonly of?: string
  readonly done?: number
  readonly total?: number
}

/** Total of a rebuild whose documents are not counted. */
const UNKNOWN = -1

type Attempts = Pick<IndexState, 'attempts'>

export const encodeRow = (part: PartName, entries: readonly TenantEntry[], { attempts = {} }: Attempts): readonly unknown[] =>
  part === 'rebuilds'
    ? (entries as readonly PendingRebuild[]).map((each) => encodeRebuild(each, attempts[each.type]))
    : entries.map(withoutTenant)

/** Returns the entries of a row. `row`: undefined if it is absent. */
export const decodeRow = (part: PartName, tenant: string, row: unknown, of: Attempts): readonly TenantEntry[] => {
  const entries = (row ?? []) as readonly StoredRebuild[]
  if (part === 'rebuilds') return entries.map((each) => decodeRebuild(tenant, each, of))
  return entries.map((each) => ({ tenant, ...each })) as readonly TenantEntry[]
}

const withoutTenant = ({ tenant: _, ...entry }: TenantEntry): unknown => entry

function encodeRebuild({ tenant: _, done, total, taken, ...rebuild }: PendingRebuild, attempt: string | undefined): StoredRebuild {
  if (attempt === undefined || taken !== attempt) return { ...rebuild, ...(attempt === undefined ? {} : { after: attempt }) }
  return { ...rebuild, ...(done === 0 && total === UNKNOWN ? {} : { of: attempt, done, total }) }
}

function decodeRebuild(tenant: string, { after, of, ...stored }: StoredRebuild, { attempts = {} }: Attempts): PendingRebuild {
  const { done = 0, total = UNKNOWN, ...rebuild } = stored
  const attempt = attempts[rebuild.type]
  const isTaken = attempt !== undefined && after !== attempt
  const progress = isTaken && of === attempt ? { done, total } : { done: 0, total: UNKNOWN }
  return { tenant, ...rebuild, ...progress, ...(isTaken ? { taken: attempt } : {}) }
}

/**
 * Returns the entries of a row, replaced by those that an earlier release stored for the same version, custom parameters or type.
 * `inRoot`: those entries.
 */
export function mergeEntries(part: PartName, inRow: readonly TenantEntry[], inRoot: readonly TenantEntry[]): readonly TenantEntry[] {
  if (inRoot.length === 0 || inRow.length === 0) return inRow.length === 0 ? inRoot : inRow
  const replaced = new Set(inRoot.map((each) => subjectOf(part, each)))
  return [...inRow.filter((each) => !replaced.has(subjectOf(part, each))), ...inRoot]
}

function subjectOf(part: PartName, entry: TenantEntry): string {
  if (part === 'rebuilds') return (entry as PendingRebuild).type
  const { id, type, versionId, reason } = entry as UnindexableVersion
  return part === 'definitions' ? id : JSON.stringify([type, id, versionId, reason])
}

/** Leaves the parts of tenants in the root until a deployment has ended, because functions that it replaces may read the root only. */
export const deferRows = (state: IndexState): IndexState => {
  const { rowsFrom, ...rest } = state
  return rowsFrom === undefined ? state : rest
}

/** Records that a deployment has replaced all functions that read the root only. Rows begin once their last invocations have ended. */
export const allowRows = (state: IndexState, now: number): IndexState => ({ ...state, rowsFrom: now + INVOKED_WITHIN })
