/** Count of index entries, by which rebuilds and exports plan their segments. */
import { PARALLEL_SOURCES } from '../../lambdas/adapters/dynamodb/store/index-windows.ts'
import { COUNTED_PER_SECOND, STEPS_OF_PART } from '../../lambdas/adapters/dynamodb/store/scan-extent.ts'
import { COUNT_MS } from './assumptions.ts'
import { sizesOf } from './sample-sizes.ts'

/** Bytes that a query reads at most. https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Query.Pagination.html */
const PAGE_BYTES = 1_048_576
/** Bytes that DynamoDB adds to each item and does not count in a page. */
const ITEM_OVERHEAD = 100

/** Returns the milliseconds to count entries of a type in queries to its partitions. `every`: entries of the parts that the count finds. */
export function countMsOf(type: string, entries: number, every: number, partitions: number): number {
  const inPage = PAGE_BYTES / (sizesOf(type).index - ITEM_OVERHEAD)
  const inQuery = Math.min(inPage, partitions === 1 ? every : every / (STEPS_OF_PART * partitions))
  const query = Math.max(COUNT_MS, (inQuery / COUNTED_PER_SECOND) * 1_000)
  return (Math.ceil(entries / inQuery) * query) / Math.min(partitions, PARALLEL_SOURCES)
}
