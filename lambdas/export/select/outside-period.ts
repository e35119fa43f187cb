/**
 * Authorizations and documents outside the period of an export for a partner. They are not exported, but lead to documents and Binaries in
 * the period. `_since` and `_until` compare the lastUpdated of each resource, regardless of the resources that refer to it.
 */
import type { ResourceVersion } from '../../ports/store/resource-store.ts'
import { exportsDocuments } from '../plan/partner-types.ts'
import { type LeaveOut, type Selection, selectVersions } from './selection.ts'

/** Returns the versions of these types that only `_since` or `_until` excludes from the export. */
export async function selectOutsidePeriod(
  selection: Selection,
  versions: readonly ResourceVersion[],
  types: readonly string[],
  leaveOut: LeaveOut,
): Promise<readonly ResourceVersion[]> {
  const { job } = selection
  if (!exportsDocuments(job)) return []
  const { since = Number.NEGATIVE_INFINITY, until = Number.POSITIVE_INFINITY, ...asked } = job.asked
  const outside = versions.filter(({ type, lastUpdated }) => types.includes(type) && (lastUpdated <= since || lastUpdated >= until))
  return outside.length === 0 ? [] : selectVersions({ ...selection, job: { ...job, asked } }, outside, leaveOut)
}
