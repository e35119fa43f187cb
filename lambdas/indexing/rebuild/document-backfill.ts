/** Creates the documents of versions again, in batches of limited size. */
import type { ExpressionRunner } from '../../ports/execution/expression-runner.ts'
import type { IndexDocument } from '../../ports/search/search-index.ts'
import type { DamagedVersion, ResourceReader, ResourceVersion } from '../../ports/store/resource-store.ts'
import type { SearchContextOf } from '../../search/search-context.ts'
import { documentsOf, splitByWeight } from '../feed/indexing.ts'
import { prefetchResources } from '../parameter-prefetch.ts'
import type { UnindexableVersions } from '../stream/unindexable-versions.ts'

export type BackfillParts = {
  readonly expressions: ExpressionRunner
  /** Receives and saves the unindexable versions. */
  readonly poisoned: Pick<UnindexableVersions, 'addVersion' | 'save'>
}

export type BackfillTarget = {
  readonly reading: SearchContextOf
  readonly apply: (documents: readonly IndexDocument[]) => Promise<void>
}

export async function backfillDocuments(
  { expressions, poisoned }: BackfillParts,
  { reading, apply }: BackfillTarget,
  versions: readonly ResourceVersion[],
): Promise<void> {
  for (const some of splitByWeight(versions)) {
    const read = await prefetchResources(some, reading, expressions)
    await apply(documentsOf(some, reading, poisoned.addVersion, read))
  }
  await poisoned.save()
}

/**
 * Returns damaged versions without their content, so that they become unindexable and do not stop the rebuild. The stream delivers damaged
 * versions the same way. Leaves out versions that are superseded, because the stream delivers the newer ones.
 */
export async function readWithoutContent(
  resources: Pick<ResourceReader, 'history'>,
  damaged: readonly DamagedVersion[],
): Promise<readonly ResourceVersion[]> {
  const newest = damaged.map(async ({ tenant, type, id, versionId }) => {
    const { versions } = await resources.history({ tenant, type, id }, { placesOnly: true }, undefined, 1)
    // guard: rebuilt-document-of-that-version
    return versions.filter((version) => version.versionId === versionId)
  })
  return (await Promise.all(newest)).flat()
}
