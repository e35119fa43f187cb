/** Loads files into a server. */
import { entriesOf, type LoadEntry } from './entries.ts'
import { Memory } from './memory.ts'
import { sizeOf } from './patched.ts'
import { type Memories, type Source, textsOf } from './read-files.ts'
import { type Failure, senderTo } from './send.ts'

export type LoadProgress = { readonly resources: number; readonly bytes: number }

export type LoadOptions = {
  readonly base: string
  /** Bundles under way at once. */
  readonly concurrency: number
  /** Told after each Bundle what was sent since the last call. */
  readonly onProgress: (progress: LoadProgress) => void
}

export type LoadResult = { readonly resources: number; readonly failures: readonly Failure[] }

const MOST_ENTRIES = 200
const MOST_BYTES = 4_000_000

/** Rejects when the server cannot be reached; what it refuses, and what cannot be read, is among the failures. */
export async function load(sources: readonly Source[], { base, concurrency, onProgress }: LoadOptions): Promise<LoadResult> {
  const failures: Failure[] = []
  let resources = 0
  const queue = sources.values()
  const work = async (): Promise<void> => {
    const send = senderTo(base)
    const memories = { bytes: new Memory(), copy: new Memory() }
    for (const source of queue) {
      for await (const entries of chunksOf(source, memories, failures)) {
        const failed = await send(entries)
        failures.push(...failed)
        resources += entries.length - failed.length
        onProgress({ resources: entries.length, bytes: 0 })
      }
      onProgress({ resources: 0, bytes: source.size })
    }
  }
  await Promise.all(Array.from({ length: concurrency }, work))
  return { resources, failures }
}

/** The entries of a file in Bundles of a size that every server takes. No Bundle holds a resource twice. */
async function* chunksOf(source: Source, memories: Memories, failures: Failure[]): AsyncGenerator<readonly LoadEntry[]> {
  let chunk = new Map<string, LoadEntry>()
  let bytes = 0
  const failed = (place: string, error: unknown): void => void failures.push({ place, key: '', reason: (error as Error).message })
  try {
    for await (const text of textsOf(source, memories))
      for (const entry of orNothing(() => entriesOf(text.bytes, text.place, text.copy), failed.bind(undefined, text.place))) {
        const size = sizeOf(entry.resource)
        if (chunk.has(entry.key) || chunk.size === MOST_ENTRIES || bytes + size > MOST_BYTES) {
          if (chunk.size > 0) yield [...chunk.values()]
          chunk = new Map()
          bytes = 0
        }
        chunk.set(entry.key, entry)
        bytes += size
      }
  } catch (error) {
    failed(source.file, error)
  }
  if (chunk.size > 0) yield [...chunk.values()]
}

function orNothing<T>(attempt: () => Iterable<T>, failed: (error: unknown) => void): Iterable<T> {
  try {
    return attempt()
  } catch (error) {
    failed(error)
    return []
  }
}
