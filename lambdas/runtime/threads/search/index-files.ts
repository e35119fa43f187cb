/** The files of the index: the one that answers, and after an upgrade the one beside it that is made to take its place. */
import { createHash } from 'node:crypto'
import { existsSync, renameSync, rmSync } from 'node:fs'
import { SCHEMA } from '../../../adapters/sqlite-index/schema.ts'
import { type IndexOptions, SqliteSearchIndex } from '../../../adapters/sqlite-index/search-index.ts'
import { isDamageError } from '../../../adapters/sqlite-store/damage.ts'
import { documentFormatOf } from '../../../indexing/document-format.ts'
import type { FeedFollower } from '../../../indexing/feed/follower.ts'
import { furthestOf, readPositions } from '../../../indexing/feed/lines.ts'
import { keyRangeOf } from '../../../indexing/references-under.ts'
import { Damaged } from '../../../ports/faults/damaged.ts'
import type { ChangeFeed } from '../../../ports/store/change-feed.ts'
import { INDEX_FORMAT } from '../../../search/documents/extract.ts'
import type { SearchContext } from '../../../search/search-context.ts'

/** The note of an index that says what its documents are made with. The first files had it under this name. */
const EXTRACTION = 'maker'
const FORMAT = 'format'
/** The note of an index that lists the base URLs its documents know as the server's own. */
const BASES = 'bases'

/**
 * `next` follows the store from its beginning, until it has all that `answering` has. `newBases`: base URLs that the documents of `answering`
 * do not know as the server's own. `reason`: why an index is made; absent: none is.
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
  /** Whether the store has a version at this position: an index that knows more is of another store. */
  readonly isKnown: (position: number) => boolean
}

/** Beside the index that answers. */
export const nextIndexFile = (file: string): string => `${file}.next`

/**
 * An index made by another extractor goes on answering while the next one is made. One that cannot be read, was made under other settings,
 * of which its answers would not be true, or of another format answers nothing: the next one, as far as it is, takes its place at once.
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

/** The next index takes over. Wherever the process ends meanwhile, there is an index that answers, and what was made is there. */
export function replaceIndexFile(
  parts: IndexFileParts,
  { answering, next }: Required<Pick<IndexFiles, 'answering' | 'next'>>,
): SqliteSearchIndex {
  next.close()
  answering.close()
  return moved(parts)
}

/** Both are closed. A log belongs to the file it is beside, and would spoil another one. */
function moved(parts: IndexFileParts): SqliteSearchIndex {
  const { file } = parts
  if ([file, nextIndexFile(file)].some((each) => existsSync(`${each}-wal`))) throw new Error('the index could not be written to its file')
  renameSync(nextIndexFile(file), file)
  return new SqliteSearchIndex(file, parts)
}

export function removeIndexFile(file: string): void {
  for (const end of ['', '-wal', '-shm']) rmSync(file + end, { force: true })
}

/** Its tables are others: SQLITE_ERROR. */
const isOfAnotherFormat = (error: unknown): boolean => (error as { readonly errcode?: number }).errcode === 1

/** `format`: of all whose answers are true to the questions of now. `extraction`: of all that are the same. Neither names a base URL. */
function marksOf(reading: SearchContext): { readonly extraction: string; readonly format: string } {
  const { baseUrl, otherBases, ...settings } = reading
  return { extraction: documentFormatOf(settings), format: `${INDEX_FORMAT} ${TABLES} ${JSON.stringify(settings)}` }
}

const TABLES = createHash('sha256').update(SCHEMA).digest('hex').slice(0, 16)

/** An earlier version of the server wrote the base URL into it. */
const formatOf = (index: SqliteSearchIndex): string => String(index.note(FORMAT)).replace(/ \{"baseUrl":"[^"]*",?/, ' {')

const basesOf = ({ baseUrl, otherBases = [] }: SearchContext): readonly string[] => [
  ...(baseUrl === undefined ? [] : [baseUrl]),
  ...otherBases,
]

/** Returns the base URLs that are the server's own and that the index does not know. undefined: only a rebuild can add them. */
function newBasesOf(index: SqliteSearchIndex, reading: SearchContext): readonly string[] | undefined {
  const known: readonly string[] = JSON.parse(String(index.note(BASES) ?? '[]'))
  const own = basesOf(reading)
  const added = own.filter((base) => !known.includes(base))
  // References outside of parameters have no keys by which they are found.
  const isFound = reading.allReferences !== true || added.length === 0
  return isFound && known.every((base) => own.includes(base)) ? added : undefined
}

/** Notes that documents are made, or are about to be made again, with all base URLs of the server. Part of the index's transaction. */
const noteBases = (index: SqliteSearchIndex, reading: SearchContext): void => index.setNote(BASES, JSON.stringify(basesOf(reading)))

/** References below a new base URL are the server's own from now on: their documents are made again. */
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

/** Whether the store has a version at the position. An index that is ahead of the store is of another one. Where the store cannot be read, nothing says so. */
export function hasPosition(feed: ChangeFeed, position: number): boolean {
  try {
    return position === 0 || feed.changes(position - 1, 1).length > 0
  } catch (error) {
    if (error instanceof Damaged) return true
    throw error
  }
}

/** Returns the index of a file, or the reason why it is of no use. A file that is of no use is removed. */
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
