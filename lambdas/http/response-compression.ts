/** Compresses response bodies, piece by piece. https://www.rfc-editor.org/rfc/rfc9110#field.content-encoding */
import { pipeline, Readable } from 'node:stream'
import { pipeline as done } from 'node:stream/promises'
import { promisify } from 'node:util'
import { createGzip, gzip } from 'node:zlib'
import { lengthOf } from './response-memory.ts'

const gzippedWhole = promisify(gzip)
/** `level`: the fastest. `chunkSize`: bytes of each compressed piece. */
const OPTIONS = { level: 1, chunkSize: 65_536 }

/** Bytes of a body from which on it is compressed. Smaller bodies are sent uncompressed. */
export const MIN_GZIP_BYTES = 1_400

/** Whether the client accepts gzip. https://www.rfc-editor.org/rfc/rfc9110#field.accept-encoding */
export const acceptsGzip = (acceptEncoding = ''): boolean => /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?(?:,|$))/.test(acceptEncoding)

/**
 * Compresses bodies in bounded memory. If the limit is reached, further bodies are sent uncompressed. Bodies count at full size, because
 * zlib compresses four at a time and holds the others whole.
 */
export class Compressor {
  readonly #most: number
  #held = 0

  /** `most`: maximum bytes of all bodies under compression, at their size before compression. */
  constructor(most: number) {
    this.#most = most
  }

  /**
   * Returns the compressed body, or undefined if the memory limit is reached: then send the body uncompressed. A single body is compressed
   * at any size.
   */
  async compress(pieces: readonly Uint8Array[]): Promise<readonly Uint8Array[] | undefined> {
    const size = lengthOf(pieces)
    if (this.#held > 0 && this.#held + size > this.#most) return undefined
    this.#held += size
    try {
      return await compressed(pieces)
    } finally {
      this.#held -= size
    }
  }
}

async function compressed(pieces: readonly Uint8Array[]): Promise<readonly Uint8Array[]> {
  const [only] = pieces
  if (only !== undefined && pieces.length === 1) return [await gzippedWhole(only, OPTIONS)]
  const compressed: Uint8Array[] = []
  await done(pieces, createGzip(OPTIONS), async (made: AsyncIterable<Uint8Array>) => {
    for await (const piece of made) compressed.push(piece)
  })
  return compressed
}

/** Compresses pieces as the consumer takes them. Passes on errors of the source. Stops reading the source if the consumer stops. */
export function gzipStream(pieces: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  return pipeline(Readable.from(pieces), createGzip(OPTIONS), () => undefined)
}
