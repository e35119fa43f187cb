/**
 * Indexes the versions of a stream. The stream delivers each version at least once, and the versions of a resource in order. Returns which
 * records it must deliver again.
 */
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
 * Indexes the latest of the given versions of each resource. Returns the sequence numbers of the records that must be delivered again. If
 * the version of a resource fails, these are all records of the resource, because earlier versions were not indexed either. If the failed
 * documents are unknown, these are all records.
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
