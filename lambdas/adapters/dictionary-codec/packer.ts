/**
 * Packs bytes with a dictionary (format.ts). At each tested offset it takes the longest match among the candidates of three hash tables.
 */
import { DASH, isDashAt, LENGTH_ESCAPE, MAX_UNPACKED_BYTES, MIN_MATCH_BYTES, UUID_LENGTH, UUID_MARKER } from './format.ts'

/** Number of positions that the two bytes of a step can address. Matches beyond it are not used. */
const POSITIONS = 0x1_0000
/**
 * Bytes that the long hash covers. For each hash of MIN_MATCH_BYTES and of LONG bytes, the tables of a dictionary hold the last offset.
 * Candidates of the long hash yield longer matches.
 */
const LONG = 12
const DICTIONARY_BITS = 14
const OWN_BITS = 12
/** Minimum saving, as a fraction of the unpacked length, for which `pack` returns packed bytes. */
const GAIN = 1 / 8

const first = (bytes: Uint8Array, at: number): number =>
  bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)
/** Returns the hash of the MIN_MATCH_BYTES bytes at the offset. */
const shortHash = (bytes: Uint8Array, at: number): number =>
  (Math.imul(first(bytes, at), 0x9e3779b1) ^ Math.imul(bytes[at + 4]!, 0x85ebca6b)) >>> (32 - DICTIONARY_BITS)
const longHash = (bytes: Uint8Array, at: number): number =>
  (Math.imul(first(bytes, at), 0x9e3779b1) ^ Math.imul(first(bytes, at + 4), 0x85ebca6b) ^ Math.imul(first(bytes, at + 8), 0xc2b2ae35)) >>>
  (32 - DICTIONARY_BITS)

/** Value of each lower-case hexadecimal digit, by character code; −1 for other bytes. */
const DIGITS = new Int8Array(256).fill(-1)
for (let value = 0; value < 16; value++) DIGITS[value.toString(16).charCodeAt(0)] = value

/**
 * Offsets in the bytes to pack, by the hash of the bytes there. All packers of this thread share it, because they run one after the other.
 * Offsets inside a match are left out: the source of the match offers the same bytes.
 */
const own = new Int32Array(1 << OWN_BITS)

export class Packer {
  readonly dictionary: Uint8Array
  readonly #short = new Int16Array(1 << DICTIONARY_BITS).fill(-1)
  readonly #long = new Int16Array(1 << DICTIONARY_BITS).fill(-1)
  /** Length and position of the match that `#find` found. A length of 0 means none. */
  #length = 0
  #position = 0

  /** `dictionary`: at most 32,767 bytes, because the tables hold 16-bit offsets. */
  constructor(dictionary: Uint8Array) {
    this.dictionary = dictionary
    for (let at = 0; at + LONG <= dictionary.length; at++) {
      this.#short[shortHash(dictionary, at)] = at
      this.#long[longHash(dictionary, at)] = at
    }
  }

  /** Returns the packed bytes. Returns undefined for more than MAX_UNPACKED_BYTES, and if packing saves less than GAIN. */
  pack(bytes: Uint8Array): Uint8Array | undefined {
    if (bytes.length > MAX_UNPACKED_BYTES) return undefined
    own.fill(-1)
    const steps = new Steps(bytes)
    for (let at = 0; at + MIN_MATCH_BYTES <= bytes.length; ) {
      this.#find(bytes, at)
      if (this.#length >= MIN_MATCH_BYTES) {
        steps.match(at, this.#length, this.#position)
        at += this.#length
      } else if (isUuidAt(bytes, at)) {
        steps.uuid(at)
        at += UUID_LENGTH
        // Tests fewer offsets the longer no match was found, because such bytes hardly compress.
      } else at += 1 + ((at - steps.told) >>> 7)
    }
    return steps.end(bytes.length - bytes.length * GAIN)
  }

  /** Finds the longest match for the bytes at `at`, in the dictionary or in earlier bytes, and stores it in `#length` and `#position`. */
  #find(bytes: Uint8Array, at: number): void {
    const { dictionary } = this
    this.#length = 0
    const hash = shortHash(bytes, at)
    if (at + LONG <= bytes.length) this.#take(bytes, at, dictionary, this.#long[longHash(bytes, at)]!, 0)
    if (this.#length < LONG) this.#take(bytes, at, dictionary, this.#short[hash]!, 0)
    const place = hash >>> (DICTIONARY_BITS - OWN_BITS)
    this.#take(bytes, at, bytes, own[place]!, dictionary.length)
    own[place] = at
  }

  /** Stores the match at `place` in `from` if it is longer than the stored one. `base`: position of the first byte of `from`. */
  #take(bytes: Uint8Array, at: number, from: Uint8Array, place: number, base: number): void {
    if (place < 0 || base + place >= POSITIONS) return
    // Cheap test first: a longer match must also cover the byte after the stored one.
    if (from[place + this.#length] !== bytes[at + this.#length]) return
    const most = Math.min(bytes.length - at, from.length - place)
    let length = 0
    while (length < most && from[place + length] === bytes[at + length]) length++
    if (length <= this.#length) return
    this.#length = length
    this.#position = base + place
  }
}

function isUuidAt(bytes: Uint8Array, at: number): boolean {
  if (bytes[at + 8] !== DASH || bytes[at + 13] !== DASH || bytes[at + 18] !== DASH || bytes[at + 23] !== DASH) return false
  if (at + UUID_LENGTH > bytes.length) return false
  for (let i = 0; i < UUID_LENGTH; i++) if (DIGITS[bytes[at + i]!]! < 0 && !isDashAt(i)) return false
  return true
}

/** Output buffer that all packers of this thread share. It grows with the longest input. */
let scratch = new Uint8Array(16_000)

class Steps {
  /** Offset in the bytes to pack: all bytes before it are covered by steps. */
  told = 0
  readonly #bytes: Uint8Array
  #end = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
    // Worst case: a step with a single literal takes two bytes. Matches and UUIDs take fewer bytes than they cover.
    if (scratch.length < bytes.length * 2 + 16) scratch = new Uint8Array(bytes.length * 4)
    this.#varint(bytes.length)
  }

  match(at: number, length: number, position: number): void {
    const beyond = length - MIN_MATCH_BYTES + 1
    this.#literals(at, Math.min(beyond, LENGTH_ESCAPE))
    if (beyond >= LENGTH_ESCAPE) this.#varint(beyond - LENGTH_ESCAPE)
    scratch[this.#end++] = position & 255
    scratch[this.#end++] = position >>> 8
    this.told = at + length
  }

  uuid(at: number): void {
    this.#literals(at, UUID_MARKER)
    for (let i = 0; i < UUID_LENGTH; i++) {
      if (isDashAt(i)) continue
      const high = DIGITS[this.#bytes[at + i++]!]!
      scratch[this.#end++] = (high << 4) | DIGITS[this.#bytes[at + i]!]!
    }
    this.told = at + UUID_LENGTH
  }

  /** Ends the output. Returns undefined if it has `least` or more bytes. */
  end(least: number): Uint8Array | undefined {
    if (this.told < this.#bytes.length) this.#literals(this.#bytes.length, UUID_MARKER)
    return this.#end < least ? scratch.slice(0, this.#end) : undefined
  }

  /** Writes a step: the literals from the last covered offset up to `at`, and `next` as lower half of its first byte. */
  #literals(at: number, next: number): void {
    const length = at - this.told
    scratch[this.#end++] = (Math.min(length, LENGTH_ESCAPE) << 4) | next
    if (length >= LENGTH_ESCAPE) this.#varint(length - LENGTH_ESCAPE)
    for (let i = this.told; i < at; i++) scratch[this.#end++] = this.#bytes[i]!
  }

  #varint(value: number): void {
    let left = value
    for (; left > 127; left >>>= 7) scratch[this.#end++] = (left & 127) | 128
    scratch[this.#end++] = left
  }
}
