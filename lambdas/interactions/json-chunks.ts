/** JSON that may be very large as bytes: in pieces that nobody joins, made in slices. */
import { type BundlePage, bundleParts, sizeOf } from '../fhir/bundle.ts'
import { Gathered } from '../fhir/chunk-buffer.ts'
import { indented } from '../fhir/pretty-json.ts'
import { othersPass } from './time-slices.ts'

/** Entries, and bytes of their resources, of a page that is written in one go. */
const SHORT = { entries: 100, bytes: 65_536 }

export async function writtenBundle(page: BundlePage, pretty = false): Promise<readonly Uint8Array[]> {
  if (pretty || !isShort(page)) return written(bundleParts(page), pretty)
  const parts = [...bundleParts(page)]
  return parts.length === 1 ? parts : [Buffer.concat(parts)]
}

const isShort = ({ entries }: BundlePage): boolean =>
  entries.length <= SHORT.entries && entries.reduce((sum, { resource }) => sum + sizeOf(resource), 0) <= SHORT.bytes

/** `parts`: the bytes as they come. */
export async function written(parts: Iterable<Uint8Array>, pretty: boolean): Promise<readonly Uint8Array[]> {
  const gathered = new Gathered()
  for (const part of pretty ? indented(parts) : parts) {
    gathered.add(part)
    const pause = othersPass()
    if (pause !== undefined) await pause
  }
  return gathered.pieces()
}
