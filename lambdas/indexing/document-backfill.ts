/** Makes the documents of versions again, as many at once as are not heavy together. */
import type { ExpressionRunner } from '../ports/execution/expression-runner.ts'
import type { IndexDocument } from '../ports/search/search-index.ts'
import type { DamagedVersion, ResourceReader, ResourceVersion } from '../ports/store/resource-store.ts'
import type { ReadingOf } from '../search/search-context.ts'
import { byWeight, documentsOf } from './feed/indexing.ts'
import { readAhead } from './parameter-prefetch.ts'
import type { PoisonList } from './unindexable-versions.ts'

export type MakingParts = {
  readonly expressions: ExpressionRunner
  /** Gets what cannot be indexed. */
  readonly poisoned: Pick<PoisonList, 'addVersion' | 'save'>
}

export type Making = {
  readonly reading: ReadingOf
  readonly apply: (documents: readonly IndexDocument[]) => Promise<void>
}

export async function makeAgain(
  { expressions, poisoned }: MakingParts,
  { reading, apply }: Making,
  versions: readonly ResourceVersion[],
): Promise<void> {
  for (const some of byWeight(versions)) {
    const read = await readAhead(some, reading, expressions)
    await apply(documentsOf(some, reading, poisoned.addVersion, read))
  }
  await poisoned.save()
}

/** Versions that are damaged, as the stream brings them: one of them must not keep all others from being found. It brings what came since. */
export async function withoutContent(
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
