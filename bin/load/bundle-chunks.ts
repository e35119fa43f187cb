/**
 * Splits the entries of a file into Bundles of at most MAX_ENTRIES entries and MAX_BYTES bytes, which every deployment accepts. A larger
 * resource gets a Bundle of its own. No Bundle holds a resource twice.
 */
import type { ReplacementFinder } from './conditional-creates.ts'
import { describeNonResource } from './export-folders.ts'
import { type ReusedBuffers, readTexts, type SourceFile } from './file-reader.ts'
import { type LoadEntry, type LoadFailure, type ParsedEntries, parseLoadEntries } from './load-entries.ts'
import { patchedSizeOf } from './patched-bytes.ts'

/**
 * Entries of one Bundle. `failures`: failures since the previous chunk. `present`: number of entries since then that are not loaded,
 * because their ifNoneExist matches a resource on the server or equals that of an earlier entry.
 */
export type Chunk = { readonly entries: readonly LoadEntry[]; readonly failures: readonly LoadFailure[]; readonly present: number }

const MAX_ENTRIES = 200
const MAX_BYTES = 4_000_000

/** Called for content of a file that is not a resource to load. */
export type SkippedContentHandler = (source: SourceFile, content: string) => void

/** Yields the entries that `accepts` accepts. The last chunk may have no entries, but still reports failures. */
export async function* chunksOf(
  source: SourceFile,
  memories: ReusedBuffers,
  replaced: ReplacementFinder,
  accepts: (entry: LoadEntry) => boolean,
  onSkipped: SkippedContentHandler,
): AsyncGenerator<Chunk> {
  let chunk = new Map<string, LoadEntry>()
  let bytes = 0
  let present = 0
  let failures: LoadFailure[] = []
  const next = (): Chunk => {
    const full = { entries: [...chunk.values()], failures, present }
    chunk = new Map()
    failures = []
    bytes = present = 0
    return full
  }
  for await (const { place, opened } of openedOf(source, memories, failed, onSkipped)) {
    const { others, refused } = await replaced(opened, place)
    failures.push(...opened.refused, ...refused.values())
    present += others.size
    for (const entry of opened.entries(others)) {
      if (refused.has(entry.key) || !accepts(entry)) continue
      const size = patchedSizeOf(entry.resource)
      if (chunk.size > 0 && (chunk.has(entry.key) || chunk.size === MAX_ENTRIES || bytes + size > MAX_BYTES)) yield next()
      chunk.set(entry.key, entry)
      bytes += size
    }
  }
  yield next()

  function failed(place: string, error: unknown): void {
    failures.push({ place, key: '', reason: (error as Error).message })
  }
}

/** Yields the readable texts of a file. Other texts go to `failed` or `onSkipped`. */
async function* openedOf(
  source: SourceFile,
  memories: ReusedBuffers,
  failed: (place: string, error: unknown) => void,
  onSkipped: SkippedContentHandler,
): AsyncGenerator<{ readonly place: string; readonly opened: ParsedEntries }> {
  try {
    for await (const { bytes, place, copy } of readTexts(source, memories)) {
      const { opened, error } = attempt(() => parseLoadEntries(bytes, place, copy))
      // Most texts are resources, so look for other content of an export only in those that are not.
      const isWhole = opened?.refused.length === 0
      const description = isWhole || source.exported === undefined ? undefined : describeNonResource(bytes)
      if (description !== undefined) onSkipped(source, description)
      else if (opened === undefined) failed(place, error)
      else yield { place, opened }
    }
  } catch (error) {
    failed(source.file, error)
  }
}

function attempt(work: () => ParsedEntries): { readonly opened?: ParsedEntries; readonly error?: unknown } {
  try {
    return { opened: work() }
  } catch (error) {
    return { error }
  }
}
