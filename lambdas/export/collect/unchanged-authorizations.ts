/**
 * Authorizations whose documents may have changed without them. An export with `_since` reads only changed resources, so an unchanged
 * authorization would not lead to its documents. Reading all authorizations would cost as much as an export without `_since`. So this step
 * starts at the changed Binaries, which are few. The index finds the Patients of the documents that name them, and then the claims of these
 * Patients.
 */
import { findSearchParameter } from '../../search/parameters.ts'
import { AUTHORIZATION, CONTENT, DOCUMENT } from '../plan/partner-types.ts'
import { findIds } from '../plan/search-ids.ts'
import { FoundKeys, PAGE, planOf, positionOf } from './patient-candidates.ts'
import type { Range } from './range.ts'
import type { RangeSlice } from './range-slice.ts'

/** Index fields of the URLs of attachments and of the Patients of a document. */
const [URLS, PATIENTS] = ['location', 'patient'].map((code) => findSearchParameter(DOCUMENT, code)!.field) as [string, string]

/** Maximum Patients of one search. */
const MAX_PATIENTS = 10_000

/** Collects the claims of Patients with a Binary that changed since `_since`. Returns whether another slice is needed. */
export async function collectAuthorizations(slice: RangeSlice, range: Range): Promise<boolean> {
  const { parts, job, watch, until } = slice
  const found = new FoundKeys(slice, range)
  const { since = 0, until: end = Number.POSITIVE_INFINITY } = job.asked
  const window = { since: since + 1, before: Math.min(job.transactionTime + 1, end), placesOnly: true }
  for (let after = range.cursor === undefined ? undefined : positionOf(JSON.parse(range.cursor)); ; ) {
    const { versions, more } = await parts.resources.history({ tenant: job.tenant, type: CONTENT }, window, after, PAGE)
    await addClaims(slice, found, [...new Set(versions.map(({ id }) => id))])
    after = positionOf(versions.at(-1)) ?? after
    if (!(await watch.isWanted())) return false
    if (!more) return !(await found.checkpoint({ isDone: true }))
    const isOver = parts.elapsed() >= until
    if ((isOver || found.isFull) && (!(await found.checkpoint({ cursor: JSON.stringify(after) })) || isOver)) return true
  }
}

/**
 * Adds the claims of the exported Patients whose documents name one of the Binaries. Ignores URLs with a version, because their content never
 * changes.
 */
async function addClaims({ parts, job, selection }: RangeSlice, found: FoundKeys, binaries: readonly string[]): Promise<void> {
  const { judge, jobScope } = selection
  const { baseUrl, otherBases = [] } = judge.reading
  const bases = ['', ...[baseUrl, ...otherBases].flatMap((base) => (base === undefined ? [] : `${base}/`))]
  const urls = binaries.flatMap((id) => bases.map((base) => `${base}${CONTENT}/${id}`))
  const documents = planOf(job, [DOCUMENT], { kind: 'key', field: URLS, oneOf: urls })
  const named = urls.length === 0 ? [] : await parts.index.distinct(documents, PATIENTS, Number.MAX_SAFE_INTEGER)
  const patients = named.filter((name) => jobScope.patients?.has(name))
  for (let first = 0; first < patients.length; first += MAX_PATIENTS) {
    const claims = planOf(job, [AUTHORIZATION], { kind: 'compartment', oneOf: patients.slice(first, first + MAX_PATIENTS) })
    for await (const ids of findIds(parts.index, claims)) found.addExported(ids.map((id) => `${AUTHORIZATION}/${id}`))
  }
}
