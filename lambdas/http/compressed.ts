/** Answers compressed on the way out, in the pieces they come in. https://www.rfc-editor.org/rfc/rfc9110#field.content-encoding */
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import { createGzip, gzip } from 'node:zlib'

const gzipped = promisify(gzip)
/** `chunkSize`: bytes of a piece. */
const OPTIONS = { level: 1, chunkSize: 65_536 }

export async function compressed(pieces: readonly Uint8Array[]): Promise<readonly Uint8Array[]> {
  const [only] = pieces
  if (only !== undefined && pieces.length === 1) return [await gzipped(only, OPTIONS)]
  const compressed: Uint8Array[] = []
  await pipeline(pieces, createGzip(OPTIONS), async (made: AsyncIterable<Uint8Array>) => {
    for await (const piece of made) compressed.push(piece)
  })
  return compressed
}
