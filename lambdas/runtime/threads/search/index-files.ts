/** Files of the index: the serving index, and during a rebuild the next index that will replace it. */
import { createHash } from 'node:crypto'
import { existsSync, renameSync, rmSync } from 'node:fs'
import { SCHEMA } from '../../../adapters/sqlite-index/schema.ts'
import { type IndexOptions, SqliteSearchIndex } from '../../../adapters/sqlite-index/search-index.ts'
import { isDamageError } from '../../../adapters/sqlite-store/damage.ts'
import { documentFormatOf } from '../../../indexing/document-format.ts'
import type { FeedFollower } from '../../../indexing/feed/follower.ts'
import { furthestOf, readPositions } from '../../../indexing/feed/lines.ts'
import { keyRangeOf } from '../../../indexing/references-under.ts'
import { isFault } from '../../../ports/faults.ts'
import type { ChangeFeed } from '../../../ports/store/change-feed.ts'
import { INDEX_FORMAT } from '../../../search/documents/extract.ts'
import type { SearchContext } from '../../../search/search-context.ts'

/** Name of the note with the document format of an index. The name `maker` stays, because existing index files use it. */
const EXTRACTION = 'maker'
const FORMAT = 'format'
/** Name of the note with the base URLs that an index treats as the server's own. */
const BASES = 'bases'

/**
 * Open indices. `answering`: the serving index. `next`: follows the store from its beginning, and replaces `answering` when it has reached
 * the same position. `newBases`: own base URLs that documents of `answering` do not take into account. `reason`: why an index is rebuilt.
 * Absent if none is.
 */
export type IndexFiles = {
  readonly answering: SqliteSearchIndex
  readonly next?: SqliteSearchIndex
  readonly newBases: readonly string[]
  readonly reason?: string
}

export type IndexFileParts = IndexOptions & {
  readonly file: string
  readonly reading: SearchContext
  /** Whether the store has a version at this position. If it has none, the index belongs to another store. */
  readonly isKnown: (position: number) => boolean
}

/** Returns the path of the next index, in the folder of the serving index. */
export const nextIndexFile = (file: string): string => `${file}.next`

/**
 * Opens the index. An index of another document format, or one that only a rebuild can adapt to the base URLs, answers searches while the
 * next one is built.
 * An index that is unreadable, or has another format, other settings or another store, would return wrong results. The next index replaces
 * it at once, even if it is incomplete. Without a next index, an empty one replaces it.
 */
export function openIndexFiles(parts: IndexFileParts): IndexFiles {
  const { file, reading } = parts
  const { extraction, format } = marksOf(reading)
  const answering = usable(parts, file, (index) => formatOf(index) === format)
  if (!('reason' in answering)) {
    const newBases = newBasesOf(answering, reading)
    const isSame = answering.note(EXTRACTION) === extraction
    if (isSame && newBases !== undefined) {
      removeIndexFile(nextIndexFile(file))
      return { answering, newBases }
    }
    const next = usable(parts, nextIndexFile(file), isNext)
    const reason = isSame ? 'a base URL is new' : 'this version of the server indexes resources differently'
    return { answering, next: 'reason' in next ? fresh(parts, nextIndexFile(file)) : next, newBases: [], reason }
  }
  const next = usable(parts, nextIndexFile(file), isNext)
  if ('reason' in next) return { answering: fresh(parts, file), newBases: [], ...answering }
  next.close()
  removeIndexFile(file)
  return { answering: moved(parts), newBases: [], ...answering }

  function isNext(index: SqliteSearchIndex): boolean {
    return index.note(EXTRACTION) === extraction && newBasesOf(index, reading)?.length === 0
  }
}

/**
 * Replaces the serving index by the next one. The rename is atomic, so a process that ends meanwhile leaves one of the two as the serving
 * index.
 */
export function replaceIndexFile(
  parts: IndexFileParts,
  { answering, next }: Required<Pick<IndexFiles, 'answering' | 'next'>>,
): SqliteSearchIndex {
  next.close()
  answering.close()
  return moved(parts)
}

/**
 * Renames the next index and opens it as the serving index. Both must be closed. Throws an Error if a write-ahead log remains, because it
 * would corrupt a file that gets its name.
 */
function moved(parts: IndexFileParts): SqliteSearchIndex {
  const { file } = parts
  if ([file, nextIndexFile(file)].some((each) => existsSync(`${each}-wal`))) throw new Error('the index could not be written to its file')
  renameSync(nextIndexFile(file), file)
  return new SqliteSearchIndex(file, parts)
}

export function removeIndexFile(file: string): void {
  for (const end of ['', '-wal', '-shm']) rmSync(file + end, { force: true })
}

/** Whether the error of SQLite means that the file has other tables (SQLITE_ERROR). */
const isOfAnotherFormat = (error: unknown): boolean => (error as { readonly errcode?: number }).errcode === 1

/**
 * Marks by which an index is recognized. `format`: if equal, the index gives correct results. `extraction`: if equal, its documents are
 * those of the current code. Neither contains a base URL, because new ones do not always need a rebuild.
 */
function marksOf(reading: SearchContext): { readonly extraction: string; readonly format: string } {
  const { baseUrl, otherBases, ...settings } = reading
  return { extraction: documentFormatOf(settings), format: `${INDEX_FORMAT} ${TABLES} ${JSON.stringify(settings)}` }
}

const TABLES = createHash('sha256').update(SCHEMA).digest('hex').slice(0, 16)

/** Returns the format mark of an index. Removes the base URL, which earlier releases included. */
const formatOf = (index: SqliteSearchIndex): string => String(index.note(FORMAT)).replace(/ \{"baseUrl":"[^"]*",?/, ' {')

const basesOf = ({ baseUrl, otherBases = [] }: SearchContext): readonly string[] => [
  ...(baseUrl === undefined ? [] : [baseUrl]),
  ...otherBases,
]

/** Returns the server's own base URLs that the index does not know. Returns undefined if only a rebuild can adapt the index. */
function newBasesOf(index: SqliteSearchIndex, reading: SearchContext): readonly string[] | undefined {
  const known: readonly string[] = JSON.parse(String(index.note(BASES) ?? '[]'))
  const own = basesOf(reading)
  const added = own.filter((base) => !known.includes(base))
  // With `allReferences`, documents also hold references of no search parameter. The index has no keys to find those below a new base URL.
  const isFound = reading.allReferences !== true || added.length === 0
  return isFound && known.every((base) => own.includes(base)) ? added : undefined
}

/**
 * Notes the base URLs of the server. Before that, all documents must use them or their rebuild must be requested. The note is part of the
 * index's transaction.
 */
const noteBases = (index: SqliteSearchIndex, reading: SearchContext): void => index.setNote(BASES, JSON.stringify(basesOf(reading)))

/** Makes references below new base URLs local: requests a rebuild of the documents that have such references. */
export function adoptBaseUrls(
  { index, follower }: { readonly index: SqliteSearchIndex; readonly follower: FeedFollower },
  bases: readonly string[],
  reading: SearchContext,
): void {
  if (bases.length === 0) return
  for (const base of bases) {
    const { from, to } = keyRangeOf(base)
    for (const { tenant, type } of index.typesWithKeys(from, to)) follower.requestRebuildUnder(tenant, type, base)
  }
  noteBases(index, reading)
  follower.commit()
}

/**
 * Whether the store has a version at the position. If not, the index belongs to another store. Returns true if the store cannot be read, so
 * that the index is not discarded.
 */
export function hasPosition(feed: ChangeFeed, position: number): boolean {
  try {
    return position === 0 || feed.changes(position - 1, 1).length > 0
  } catch (error) {
    if (isFault(error, 'store-damaged')) return true
    throw error
  }
}

/** Opens the index of a file. If it cannot be used, deletes the file and returns the reason. */
function usable(
  parts: IndexFileParts,
  file: string,
  isUsable: (index: SqliteSearchIndex) => boolean,
): SqliteSearchIndex | { readonly reason: string } {
  if (!existsSync(file)) return { reason: 'there is no index' }
  let reason = 'it was made with other settings'
  try {
    const found = new SqliteSearchIndex(file, parts)
    const isKnown = parts.isKnown(furthestOf(readPositions(found)))
    if (isKnown && isUsable(found)) return found
    if (!isKnown) reason = 'it belongs to another store'
    found.close()
  } catch (error) {
    if (!isDamageError(error) && !isOfAnotherFormat(error)) throw error
    reason = isDamageError(error) ? 'it is damaged' : 'it has another format'
  }
  removeIndexFile(file)
  return { reason }
}

function fresh(parts: IndexFileParts, file: string): SqliteSearchIndex {
  removeIndexFile(file)
  const made = new SqliteSearchIndex(file, parts)
  const { extraction, format } = marksOf(parts.reading)
  made.setNote(EXTRACTION, extraction)
  made.setNote(FORMAT, format)
  noteBases(made, parts.reading)
  made.commit()
  return made
}
