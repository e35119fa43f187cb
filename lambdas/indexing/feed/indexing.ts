/** Feeds an index from the versions of a store, in order, each exactly as often as needed. */
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

/** An index that keeps the position it follows the feed to, in one transaction with its documents. */
export type FollowingIndex = {
  /** In pieces: between two of them searches are answered, and nothing is committed. `again`: also where the index has that version already. */
  readonly applying: (documents: readonly IndexDocument[], options?: { readonly again: boolean }) => Generator<undefined, void>
  /** Steps towards a commit come before more documents. */
  readonly isFull: boolean
  /** A step towards a commit that takes less time; true when the last is done. */
  readonly prepareCommit: () => boolean
  readonly commit: () => void
  readonly note: (name: string) => string | number | undefined
  readonly setNote: (name: string, value: string | number) => void
}

/** Told of a version that could not be extracted: it is indexed by its key alone, or without the parameter that is Unevaluated. */
export type UnindexableHandler = (version: ResourceVersion, error: unknown) => void

/** A parameter somebody defined has no values of a version, for its expression failed. */
export class UnevaluatedParameter extends Error {
  override readonly name: string

  constructor(code: string, { cause }: { readonly cause: unknown }) {
    super('', { cause })
    this.name = `${failurePrefixOf(code)}${cause instanceof Error ? cause.name : typeof cause}`
  }
}

/** A part of the feed. `read`: its resources whose parameters were evaluated ahead. */
export type PrefetchedPart = FeedPart & { readonly read: PrefetchedResources }

export type IndexingParts = {
  readonly reading: SearchContextOf
  readonly onPoison: UnindexableHandler
  /** Told of each version before it is read: what that changes about `reading` counts for it already, if nothing is to be evaluated before. */
  readonly onVersion?: (version: ResourceVersion) => void
}

/** Few, so that they are gone when memory is next swept: what lives then is copied. */
const AT_ONCE = 16
/** Bytes of resources whose documents are in memory at once, about: a document may be ten times as large. */
const HEAVY = 1_000_000

/** Whether resources of so many bytes are enough for now. */
export const isHeavy = (bytes: number): boolean => bytes > HEAVY

/** In their order, as many together as are not heavy before the last of them. */
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
 * Indexes versions of the part and returns the position that it reached. Stops early when the memory of the index is full, and after a version
 * that defines parameters to evaluate before others follow. A heavy version is indexed alone, in pieces: the part ends before it and after it.
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

/** `read`: the resources that were read already. */
export const documentsOf = (
  versions: readonly ResourceVersion[],
  reading: SearchContextOf,
  onPoison: UnindexableHandler,
  read: PrefetchedResources,
): readonly IndexDocument[] => versions.map((version) => documentOf(version, reading(version.tenant), onPoison, read.get(version)))

/** `read`: the resource, where it was read already. */
export const documentOf = (
  version: ResourceVersion,
  reading: SearchContext,
  onPoison: UnindexableHandler,
  read?: Resource,
): IndexDocument => runToEnd(buildDocumentInPieces(version, reading, onPoison, read))

/** As documentOf. */
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
