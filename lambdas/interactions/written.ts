/** JSON that may be very large as bytes: in pieces that nobody joins, made in slices. */
import { type BundlePage, bundleParts } from '../fhir/bundle.ts'
import { Gathered } from '../fhir/gathered.ts'
import { indented } from '../fhir/indented.ts'
import { othersPass } from './slices.ts'

export const writtenBundle = (page: BundlePage, pretty = false): Promise<readonly Uint8Array[]> => written(bundleParts(page), pretty)

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
