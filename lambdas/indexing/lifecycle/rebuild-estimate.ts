/** Estimates how long the rebuilds on AWS take, from the first document on. */
import type { IndexState } from './state.ts'

/** Documents that one function creates and writes to the index per second, in the stream and in a rebuild. Not measured on AWS. */
export const DOCUMENTS_PER_SECOND = 500

const HOUR = 3_600

/**
 * Returns the estimated hours until the rebuilds that an execution has taken are complete, rounded up. Returns undefined if there are none,
 * or if their documents are not counted. Whole hours do not tell a tenant how many documents others have.
 */
export function hoursLeft({ rebuilds = [], worker }: Partial<Pick<IndexState, 'rebuilds' | 'worker'>>): number | undefined {
  const taken = rebuilds.filter(({ taken }) => taken !== undefined)
  if (worker?.width === undefined || taken.length === 0 || taken.some(({ total }) => total < 0)) return undefined
  const left = taken.reduce((sum, { done, total }) => sum + Math.max(0, total - done), 0)
  return Math.ceil(left / (worker.width * DOCUMENTS_PER_SECOND) / HOUR)
}
