/** A page of a Bundle as bytes: in pieces that nobody joins, made in slices, for a page of a batch may be very large. */
import { type BundlePage, bundleParts } from '../fhir/bundle.ts'
import { Gathered } from '../fhir/gathered.ts'
import { othersPass } from './slices.ts'

export async function writtenBundle(page: BundlePage, pretty = false): Promise<readonly Uint8Array[]> {
  const gathered = new Gathered()
  for (const part of bundleParts(page, pretty)) {
    gathered.add(part)
    const pause = othersPass()
    if (pause !== undefined) await pause
  }
  return gathered.pieces()
}
