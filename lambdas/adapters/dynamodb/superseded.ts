/** Which entries of the index were current at an instant. */
import { inChunks } from './parallel.ts'
import type { Reader } from './reader.ts'
import type { Entry } from './windows.ts'

/** A writer that lost a race may have left its own instant in the copy, but not one of much earlier or later: ms. */
const MARGIN = 15 * 60 * 1000
const CHUNK = 50

/** A copy's hint decides where it is far from the instant; otherwise, and for heads, the next version does. */
export async function currentAt(reader: Reader, entries: readonly Entry[], instant: number): Promise<readonly Entry[]> {
  const superseded = new Set<Entry>(entries.filter(({ isHead, sup }) => !isHead && sup !== undefined && sup < instant - MARGIN))
  const unsure = entries.filter(
    (entry) => !superseded.has(entry) && (entry.isHead || entry.sup === undefined || entry.sup <= instant + MARGIN),
  )
  await inChunks(unsure, CHUNK, async (chunk) => {
    const next = await reader.contents(chunk.map((entry) => ({ ...entry, versionId: entry.versionId + 1 })))
    for (const [i, entry] of chunk.entries()) if ((next[i]?.lu ?? Number.POSITIVE_INFINITY) <= instant) superseded.add(entry)
  })
  return entries.filter((entry) => !superseded.has(entry))
}
