/** The entries of a file in Bundles of a size that every server takes. No Bundle holds a resource twice. */
import type { Replaced } from './conditional-creates.ts'
import { besideIn } from './export-folders.ts'
import { type Memories, type Source, textsOf } from './file-reader.ts'
import { type Failure, type LoadEntry, type Opened, open } from './load-entries.ts'
import { sizeOf } from './patched-bytes.ts'

/** `failures`: of what was read for it. `present`: how many resources have others in their place. */
export type Chunk = { readonly entries: readonly LoadEntry[]; readonly failures: readonly Failure[]; readonly present: number }

const MOST_ENTRIES = 200
const MOST_BYTES = 4_000_000

/** Told of what is in the file and is no resource to load. */
export type OnBeside = (source: Source, what: string) => void

/** Of the entries that are meant. The last chunk may have none, and tell failures all the same. */
export async function* chunksOf(
  source: Source,
  memories: Memories,
  replaced: Replaced,
  isMeant: (entry: LoadEntry) => boolean,
  onBeside: OnBeside,
): AsyncGenerator<Chunk> {
  let chunk = new Map<string, LoadEntry>()
  let bytes = 0
  let present = 0
  let failures: Failure[] = []
  const next = (): Chunk => {
    const full = { entries: [...chunk.values()], failures, present }
    chunk = new Map()
    failures = []
    bytes = present = 0
    return full
  }
  for await (const { place, opened } of openedOf(source, memories, failed, onBeside)) {
    const { others, refused } = await replaced(opened, place)
    failures.push(...opened.refused, ...refused.values())
    present += others.size
    for (const entry of opened.entries(others)) {
      if (refused.has(entry.key) || !isMeant(entry)) continue
      const size = sizeOf(entry.resource)
      if (chunk.size > 0 && (chunk.has(entry.key) || chunk.size === MOST_ENTRIES || bytes + size > MOST_BYTES)) yield next()
      chunk.set(entry.key, entry)
      bytes += size
    }
  }
  yield next()

  function failed(place: string, error: unknown): void {
    failures.push({ place, key: '', reason: (error as Error).message })
  }
}

/** What can be read of a file. */
async function* openedOf(
  source: Source,
  memories: Memories,
  failed: (place: string, error: unknown) => void,
  onBeside: OnBeside,
): AsyncGenerator<{ readonly place: string; readonly opened: Opened }> {
  try {
    for await (const { bytes, place, copy } of textsOf(source, memories)) {
      const { opened, error } = attempt(() => open(bytes, place, copy))
      // Most lines are resources: what else an export has is looked for where one is none.
      const isWhole = opened?.refused.length === 0
      const beside = isWhole || source.exported === undefined ? undefined : besideIn(bytes)
      if (beside !== undefined) onBeside(source, beside)
      else if (opened === undefined) failed(place, error)
      else yield { place, opened }
    }
  } catch (error) {
    failed(source.file, error)
  }
}

function attempt(work: () => Opened): { readonly opened?: Opened; readonly error?: unknown } {
  try {
    return { opened: work() }
  } catch (error) {
    return { error }
  }
}
