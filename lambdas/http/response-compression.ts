/** Answers compressed on the way out, in the pieces they come in. https://www.rfc-editor.org/rfc/rfc9110#field.content-encoding */
import { pipeline, Readable } from 'node:stream'
import { pipeline as done } from 'node:stream/promises'
import { promisify } from 'node:util'
import { createGzip, gzip } from 'node:zlib'

const gzippedWhole = promisify(gzip)
/** `chunkSize`: bytes of a piece. */
const OPTIONS = { level: 1, chunkSize: 65_536 }

/** Bytes. */
export const WORTH_COMPRESSING = 1_400

/** https://www.rfc-editor.org/rfc/rfc9110#field.accept-encoding */
export const takesGzip = (acceptEncoding = ''): boolean => /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?(?:,|$))/.test(acceptEncoding)

export async function compressed(pieces: readonly Uint8Array[]): Promise<readonly Uint8Array[]> {
  const [only] = pieces
  if (only !== undefined && pieces.length === 1) return [await gzippedWhole(only, OPTIONS)]
  const compressed: Uint8Array[] = []
  await done(pieces, createGzip(OPTIONS), async (made: AsyncIterable<Uint8Array>) => {
    for await (const piece of made) compressed.push(piece)
  })
  return compressed
}

/** As they are taken: what fails in between fails here, and where nobody wants more nothing more is read. */
export function gzipped(pieces: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  return pipeline(Readable.from(pieces), createGzip(OPTIONS), () => undefined)
}
