/** JSON that may be very large as bytes: in pieces that nobody joins, made in slices. */
import { type BundlePage, byteSizeOf, writeBundleChunks } from '../fhir/bundle.ts'
import { ChunkBuffer } from '../fhir/chunk-buffer.ts'
import { indentJson } from '../fhir/pretty-json.ts'
import { yieldIfDue } from './time-slices.ts'

/** Entries, and bytes of their resources, of a page that is written in one go. */
const SHORT = { entries: 100, bytes: 65_536 }

export async function writeBundle(page: BundlePage, pretty = false): Promise<readonly Uint8Array[]> {
  if (pretty || !isShort(page)) return writeChunks(writeBundleChunks(page), pretty)
  const parts = [...writeBundleChunks(page)]
  return parts.length === 1 ? parts : [Buffer.concat(parts)]
}

const isShort = ({ entries }: BundlePage): boolean =>
  entries.length <= SHORT.entries && entries.reduce((sum, { resource }) => sum + byteSizeOf(resource), 0) <= SHORT.bytes

/** `parts`: the bytes as they come. */
export async function writeChunks(parts: Iterable<Uint8Array>, pretty: boolean): Promise<readonly Uint8Array[]> {
  const gathered = new ChunkBuffer()
  for (const part of pretty ? indentJson(parts) : parts) {
    gathered.add(part)
    const pause = yieldIfDue()
    if (pause !== undefined) await pause
  }
  return gathered.pieces()
}
