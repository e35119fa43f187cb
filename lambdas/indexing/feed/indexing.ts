/** Builds documents from the versions of a change feed and applies them to an index, in order. */
import { parseJsonBytes } from '../../fhir/json.ts'
import type { Resource } from '../../fhir/resource.ts'
import { runToEnd } from '../../ports/execution/generator-driver.ts'
import { failurePrefixOf } from '../../ports/search/index-status.ts'
import type { IndexDocument } from '../../ports/search/search-index.ts'
import type { FeedPart } from '../../ports/store/change-feed.ts'
import type { ResourceVersion } from '../../ports/store/resource-store.ts'
import { extract, extractInPieces } from '../../search/documents/extract.ts'
import type { SearchContext, SearchContextOf } from '../../search/search-context.ts'
import { isPrefetchNeeded, type PrefetchedResources } from '../parameter-prefetch.ts'

/** An index that stores its positions in the feed in the same transaction as its documents. */
export type FollowingIndex = {
  /**
   * Applies documents in pieces. Searches may run between two pieces, but the caller must not commit there. `again`: also replaces a
   * document of the same version.
   */
  readonly applying: (documents: readonly IndexDocument[], options?: { readonly again: boolean }) => Generator<undefined, void>
  /** Whether the memory of the index is full. The caller must then take steps towards a commit before it applies more documents. */
  readonly isFull: boolean
  /** Takes one short step towards a commit. Returns true if no step is left before `commit`. */
  readonly prepareCommit: () => boolean
  readonly commit: () => void
  readonly note: (name: string) => string | number | undefined
  readonly setNote: (name: string, value: string | number) => void
}

/**
 * Receives a version that could not be extracted. After an UnevaluatedParameter, the version is indexed without that parameter. After any
 * other error, it is indexed by its id only.
 */
export type UnindexableHandler = (version: ResourceVersion, error: unknown) => void

/**
 * Error for a version on which the expression of a custom parameter failed. Its name holds the code of the parameter and the kind of error.
 */
export class UnevaluatedParameter extends Error {
  override readonly name: string

  constructor(code: string, { cause }: { readonly cause: unknown }) {
    super('', { cause })
    this.name = `${failurePrefixOf(code)}${cause instanceof Error ? cause.name : typeof cause}`
  }
}

/** A part of the feed. `read`: its resources whose costly parameters are already evaluated. */
export type PrefetchedPart = FeedPart & { readonly read: PrefetchedResources }

export type IndexingParts = {
  readonly reading: SearchContextOf
  readonly onPoison: UnindexableHandler
  /**
   * Receives each version before its extraction, and may change the contexts that `reading` returns. The version is extracted with the
   * changed context. Exception: if that has costly parameters, only the next versions are, because their values must be evaluated first.
   */
  readonly onVersion?: (version: ResourceVersion) => void
}

/** Maximum documents applied together. The number is small, so that most documents are freed before the garbage collector copies them. */
const AT_ONCE = 16
/** Bytes of resources above which a batch ends. It bounds the memory for documents: one may be ten times as large as its resource. */
const HEAVY = 1_000_000

/** Whether resources of this many bytes fill a batch. */
export const isHeavy = (bytes: number): boolean => bytes > HEAVY

/** Splits versions into batches, in order. A batch ends with the version that takes its bodies above HEAVY bytes. */
export function* splitByWeight(versions: readonly ResourceVersion[]): Generator<readonly ResourceVersion[]> {
  let from = 0
  let weight = 0
  for (const [i, { body }] of versions.entries()) {
    weight += body.length
    if (!isHeavy(weight)) continue
    yield versions.slice(from, i + 1)
    from = i + 1
    weight = 0
  }
  if (from < versions.length) yield versions.slice(from)
}

/**
 * Indexes versions of the part and returns the position that it reached. Stops early when the memory of the index is full. Also stops after
 * a version that changes the search context of a tenant with costly parameters. Values for the next version must then be evaluated first. A
 * version above HEAVY bytes is indexed alone: the function stops before it and after it.
 */
export function* indexChanges(
  index: FollowingIndex,
  { changes, upTo, read }: PrefetchedPart,
  { reading, onPoison, onVersion }: IndexingParts,
): Generator<undefined, number> {
  const documents: IndexDocument[] = []
  let taken = 0
  let weight = 0
  for (const { version } of changes) {
    const isAlone = isHeavy(version.body.length)
    if (isAlone && taken > 0) break
    const before = reading(version.tenant)
    onVersion?.(version)
    const after = reading(version.tenant)
    const isReady = after === before || !isPrefetchNeeded(after)
    documents.push(yield* buildDocumentInPieces(version, isReady ? after : before, onPoison, read.get(version)))
    weight += version.body.length
    taken++
    if (documents.length === AT_ONCE || isHeavy(weight)) {
      yield* index.applying(documents.splice(0))
      weight = 0
      if (index.isFull) break
    }
    if (isAlone || !isReady) break
  }
  yield* index.applying(documents)
  return taken === changes.length ? upTo : changes[taken - 1]!.position
}

/** Returns the documents of the versions. `read`: resources that are already parsed, with the values of their costly parameters. */
export const documentsOf = (
  versions: readonly ResourceVersion[],
  reading: SearchContextOf,
  onPoison: UnindexableHandler,
  read: PrefetchedResources,
): readonly IndexDocument[] => versions.map((version) => documentOf(version, reading(version.tenant), onPoison, read.get(version)))

/**
 * Returns the document of a version. If its extraction fails, `onPoison` receives the error. The document then has no values of search
 * parameters, and searches find it by its id only. `read`: the resource, if it is already parsed.
 */
export const documentOf = (
  version: ResourceVersion,
  reading: SearchContext,
  onPoison: UnindexableHandler,
  read?: Resource,
): IndexDocument => runToEnd(buildDocumentInPieces(version, reading, onPoison, read))

/** Builds the same document as `documentOf`. Yields between pieces if the resource has many values, so that other work can run. */
export function* buildDocumentInPieces(
  version: ResourceVersion,
  reading: SearchContext,
  onPoison: UnindexableHandler,
  read?: Resource,
): Generator<undefined, IndexDocument> {
  try {
    const resource = version.deleted ? undefined : (read ?? (parseJsonBytes(version.body) as Resource))
    return yield* extractInPieces(version, resource, reading, (code, cause) => onPoison(version, new UnevaluatedParameter(code, { cause })))
  } catch (error) {
    onPoison(version, error)
    return extract(version, undefined)
  }
}
