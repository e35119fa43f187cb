/** Serializes JSON to chunks of bytes, in time slices. Large JSON is never joined into one buffer. */
import { type BundlePage, byteSizeOf, writeBundleChunks } from '../fhir/bundle.ts'
import { ChunkBuffer } from '../fhir/chunk-buffer.ts'
import { indentJson } from '../fhir/pretty-json.ts'
import { yieldIfDue } from './time-slices.ts'

/** Maximum entries, and bytes of their resources, of a page that is serialized at once. Larger pages are serialized in time slices. */
const SHORT = { entries: 100, bytes: 65_536 }

export async function writeBundle(page: BundlePage, pretty = false): Promise<readonly Uint8Array[]> {
  if (pretty || !isShort(page)) return writeChunks(writeBundleChunks(page), pretty)
  const parts = [...writeBundleChunks(page)]
  return parts.length === 1 ? parts : [Buffer.concat(parts)]
}

const isShort = ({ entries }: BundlePage): boolean =>
  entries.length <= SHORT.entries && entries.reduce((sum, { resource }) => sum + byteSizeOf(resource), 0) <= SHORT.bytes

/** Collects the bytes of `parts` in chunks, in time slices. `pretty`: indents the JSON. */
export async function writeChunks(parts: Iterable<Uint8Array>, pretty: boolean): Promise<readonly Uint8Array[]> {
  const gathered = new ChunkBuffer()
  for (const part of pretty ? indentJson(parts) : parts) {
    gathered.add(part)
    const pause = yieldIfDue()
    if (pause !== undefined) await pause
  }
  return gathered.pieces()
}
