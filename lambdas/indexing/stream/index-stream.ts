/** Feeds an index from a stream that delivers at least once, in order for each resource. Names the records to deliver again. */
import type { ExpressionRunner } from '../../ports/execution/expression-runner.ts'
import { isFault } from '../../ports/faults.ts'
import type { DocumentSink } from '../../ports/search/search-index.ts'
import { nameOf, newestVersionsOf } from '../../ports/store/newest-versions.ts'
import type { ResourceVersion } from '../../ports/store/resource-store.ts'
import type { SearchContextOf } from '../../search/search-context.ts'
import { documentsOf, type UnindexableHandler } from '../feed/indexing.ts'
import { prefetchResources } from '../parameter-prefetch.ts'

/** A version in the stream. `sequence`: sequence number of its record. */
export type StreamChange = { readonly sequence: string; readonly version: ResourceVersion }

export type StreamParts = {
  readonly index: DocumentSink
  readonly reading: SearchContextOf
  readonly expressions: ExpressionRunner
  readonly onPoison: UnindexableHandler
}

/**
 * Indexes versions and returns the sequence numbers that must be delivered again. Indexes only the highest version of each resource. If
 * that fails, all records of the resource count as failed, because the index may have seen none of them.
 */
export async function indexStream(
  changes: readonly StreamChange[],
  { index, reading, expressions, onPoison }: StreamParts,
): Promise<readonly string[]> {
  const newest = newestVersionsOf(
    changes.map(({ version }) => version),
    ({ versionId }) => versionId,
  )
  try {
    const read = await prefetchResources(newest, reading, expressions)
    await index.apply(documentsOf(newest, reading, onPoison, read))
    return []
  } catch (error) {
    const failed = isFault(error, 'not-applied') ? new Set(error.documents.map(nameOf)) : undefined
    return changes.filter(({ version }) => failed === undefined || failed.has(nameOf(version))).map(({ sequence }) => sequence)
  }
}
