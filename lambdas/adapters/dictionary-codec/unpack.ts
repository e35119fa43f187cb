/** Unpacks bytes that packer.ts packed (format.ts). */
import { DASH, isDashAt, LENGTH_ESCAPE, MAX_UNPACKED_BYTES, MIN_MATCH_BYTES, UUID_LENGTH, UUID_MARKER } from './format.ts'

/** Packed bytes are invalid, or were packed with another dictionary. */
export class UnpackError extends Error {}

const DIGITS = Uint8Array.from('0123456789abcdef', (digit) => digit.charCodeAt(0))

/**
 * Returns the unpacked bytes. Throws UnpackError if the steps are invalid. Detecting any other damage requires a checksum of the caller.
 */
export function unpack(packed: Uint8Array, dictionary: Uint8Array): Uint8Array {
  const steps = new Steps(packed)
  const length = steps.varint()
  if (length > MAX_UNPACKED_BYTES) throw new UnpackError('it would become too large')
  const bytes = new Uint8Array(length)
  let end = 0
  while (end < length) {
    const halves = steps.byte()
    end = steps.literals(bytes, end, lengthOf(halves >>> 4, 0, steps))
    if (end === length) break
    const next = halves & LENGTH_ESCAPE
    if (next === UUID_MARKER) end = steps.uuid(bytes, end)
    else {
      const size = lengthOf(next, MIN_MATCH_BYTES - 1, steps)
      end = copyMatch(bytes, end, size, steps.position(), dictionary)
    }
  }
  return bytes
}

const lengthOf = (half: number, least: number, steps: Steps): number =>
  least + (half === LENGTH_ESCAPE ? LENGTH_ESCAPE + steps.varint() : half)

/**
 * Copies a match to `at` and returns the offset after it. The source of a match may overlap the bytes that it produces, so bytes are copied
 * one by one.
 */
function copyMatch(bytes: Uint8Array, at: number, length: number, position: number, dictionary: Uint8Array): number {
  const isInDictionary = position < dictionary.length
  const from = isInDictionary ? dictionary : bytes
  let next = isInDictionary ? position : position - dictionary.length
  const end = at + length
  // guard: unpack-stays-in-dictionary
  if (end > bytes.length || (isInDictionary ? next + length > dictionary.length : next >= at))
    throw new UnpackError('a match leads nowhere')
  for (let i = at; i < end; i++) bytes[i] = from[next++]!
  return end
}

class Steps {
  readonly #packed: Uint8Array
  #at = 0

  constructor(packed: Uint8Array) {
    this.#packed = packed
  }

  byte(): number {
    if (this.#at >= this.#packed.length) throw new UnpackError('it ends early')
    return this.#packed[this.#at++]!
  }

  varint(): number {
    let value = 0
    for (let shift = 0; shift < 28; shift += 7) {
      const byte = this.byte()
      value |= (byte & 127) << shift
      if (byte < 128) return value
    }
    throw new UnpackError('a number is too large')
  }

  position(): number {
    return this.byte() | (this.byte() << 8)
  }

  literals(bytes: Uint8Array, at: number, length: number): number {
    const end = at + length
    if (end > bytes.length || this.#at + length > this.#packed.length) throw new UnpackError('literals have no place')
    for (let i = at; i < end; i++) bytes[i] = this.#packed[this.#at++]!
    return end
  }

  uuid(bytes: Uint8Array, at: number): number {
    if (at + UUID_LENGTH > bytes.length || this.#at + 16 > this.#packed.length) throw new UnpackError('a UUID has no place')
    for (let i = 0; i < UUID_LENGTH; i++) {
      if (isDashAt(i)) bytes[at + i] = DASH
      else {
        const byte = this.#packed[this.#at++]!
        bytes[at + i++] = DIGITS[byte >>> 4]!
        bytes[at + i] = DIGITS[byte & 15]!
      }
    }
    return at + UUID_LENGTH
  }
}
