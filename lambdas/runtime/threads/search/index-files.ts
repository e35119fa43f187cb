/** The files of the index: the one that answers, and after an upgrade the one beside it that is made to take its place. */
import { createHash } from 'node:crypto'
import { existsSync, renameSync, rmSync } from 'node:fs'
import { SCHEMA } from '../../../adapters/sqlite-index/schema.ts'
import { type IndexOptions, SqliteSearchIndex } from '../../../adapters/sqlite-index/search-index.ts'
import { isDamaged } from '../../../adapters/sqlite-store/damage.ts'
import { extractionOf } from '../../../indexing/document-format.ts'
import { positionOf } from '../../../indexing/feed-indexing.ts'
import { INDEX_FORMAT } from '../../../search/documents/extract.ts'
import type { Reading } from '../../../search/search-context.ts'

/** The note of an index that says what its documents are made with. The first files had it under this name. */
const EXTRACTION = 'maker'
const FORMAT = 'format'

/** `next` follows the store from its beginning, until it has all that `answering` has. */
export type IndexFiles = { readonly answering: SqliteSearchIndex; readonly next?: SqliteSearchIndex }

export type FileParts = IndexOptions & {
  readonly file: string
  readonly reading: Reading
  /** Whether the store has a version at this position: an index that knows more is of another store. */
  readonly isKnown: (position: number) => boolean
}

/** Beside the index that answers. */
export const nextTo = (file: string): string => `${file}.next`

/**
 * An index made by another extractor goes on answering while the next one is made. One that cannot be read, was made under other settings,
 * of which its answers would not be true, or of another format answers nothing: the next one, as far as it is, takes its place at once.
 */
export function openIndexFiles(parts: FileParts): IndexFiles {
  const { file } = parts
  const { extraction, format } = marksOf(parts.reading)
  const answering = usable(parts, file, FORMAT, format)
  if (answering?.note(EXTRACTION) === extraction) {
    discard(nextTo(file))
    return { answering }
  }
  const next = usable(parts, nextTo(file), EXTRACTION, extraction)
  if (answering !== undefined) return { answering, next: next ?? fresh(parts, nextTo(file)) }
  if (next === undefined) return { answering: fresh(parts, file) }
  next.close()
  discard(file)
  return { answering: moved(parts) }
}

/** The next index takes over. Wherever the process ends meanwhile, there is an index that answers, and what was made is there. */
export function takeOver(parts: FileParts, { answering, next }: Required<IndexFiles>): SqliteSearchIndex {
  next.close()
  answering.close()
  return moved(parts)
}

/** Both are closed. A log belongs to the file it is beside, and would spoil another one. */
function moved(parts: FileParts): SqliteSearchIndex {
  const { file } = parts
  if ([file, nextTo(file)].some((each) => existsSync(`${each}-wal`))) throw new Error('the index could not be written to its file')
  renameSync(nextTo(file), file)
  return new SqliteSearchIndex(file, parts)
}

export function discard(file: string): void {
  for (const end of ['', '-wal', '-shm']) rmSync(file + end, { force: true })
}

/** Its tables are others: SQLITE_ERROR. */
const isOfAnotherFormat = (error: unknown): boolean => (error as { readonly errcode?: number }).errcode === 1

/** `format`: of all whose answers are true to the questions of now. `extraction`: of all that are the same. */
function marksOf(reading: Reading): { readonly extraction: string; readonly format: string } {
  const tables = createHash('sha256').update(SCHEMA).digest('hex').slice(0, 16)
  return { extraction: extractionOf(reading), format: `${INDEX_FORMAT} ${tables} ${JSON.stringify(reading)}` }
}

/** The index of a file, if it has the mark. A file that is of no use is thrown away. */
function usable(parts: FileParts, file: string, mark: string, value: string): SqliteSearchIndex | undefined {
  if (!existsSync(file)) return undefined
  try {
    const found = new SqliteSearchIndex(file, parts)
    if (found.note(mark) === value && parts.isKnown(positionOf(found))) return found
    found.close()
  } catch (error) {
    if (!isDamaged(error) && !isOfAnotherFormat(error)) throw error
  }
  discard(file)
  return undefined
}

function fresh(parts: FileParts, file: string): SqliteSearchIndex {
  discard(file)
  const made = new SqliteSearchIndex(file, parts)
  const { extraction, format } = marksOf(parts.reading)
  made.setNote(EXTRACTION, extraction)
  made.setNote(FORMAT, format)
  made.commit()
  return made
}
