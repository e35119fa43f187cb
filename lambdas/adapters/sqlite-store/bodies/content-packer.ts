/**
 * Packs new versions with a dictionary per type, for all tenants. The first dictionary of a type consists of its first versions. Later
 * versions may differ, so a new dictionary is built from them up to two times. Versions that are already stored do not change.
 */
import type { DatabaseSync } from 'node:sqlite'
import { MAX_UNPACKED_BYTES } from '../../dictionary-codec/format.ts'
import { Packer } from '../../dictionary-codec/packer.ts'
import { joinContent, type StoredContent, type VersionContent } from './contents.ts'
import { addDictionary, Dictionaries } from './dictionaries.ts'

/** Default size of a dictionary in bytes. */
const SIZE = 16_000
/**
 * Bytes of a type after which the sample for its first, second and third dictionary begins, in multiples of the dictionary size. They are
 * counted from the start of the writer, and again from 0 after a rollback.
 */
const BEGINNINGS = [0, 64, 2_048]
/** Share of a dictionary that one version may fill. Of a longer version, only the beginning is used. */
const MOST_OF_ONE = 1 / 2

type Packing = { readonly dictionary: number; readonly packer: Packer }

class TypeState {
  /** Number of intact dictionaries of the type. */
  made: number
  packing: Packing | undefined
  #written = 0
  #sample: Uint8Array[] = []
  #gathered = 0
  readonly #size: number

  constructor(size: number, made: number, packing: Packing | undefined) {
    this.#size = size
    this.made = made
    this.packing = packing
  }

  /**
   * Counts the bytes of a version and may add it to the sample. Returns the next dictionary when its sample is complete, otherwise
   * undefined.
   */
  see(bytes: Uint8Array): Uint8Array | undefined {
    const beginning = BEGINNINGS[this.made]
    if (beginning === undefined) return undefined
    this.#written += bytes.length
    if (this.#written <= beginning * this.#size) return undefined
    const part = bytes.slice(0, this.#size * MOST_OF_ONE)
    this.#sample.push(part)
    this.#gathered += part.length
    return this.#gathered < this.#size ? undefined : this.#takeSample()
  }

  #takeSample(): Uint8Array {
    const sample = Buffer.concat(this.#sample).subarray(0, this.#size)
    this.#sample = []
    this.#gathered = 0
    return sample
  }
}

export class ContentPacker {
  readonly #db: DatabaseSync
  readonly #size: number
  readonly #types = new Map<string, TypeState>()

  /** `size`: size of new dictionaries in bytes. */
  constructor(db: DatabaseSync, size = SIZE) {
    this.#db = db
    this.#size = size
  }

  /**
   * Packs the content, unless its type has no dictionary yet, packing saves too little, or the body exceeds MAX_UNPACKED_BYTES. Requires an
   * open transaction, because it may add a dictionary for later versions.
   */
  pack(type: string, content: VersionContent): StoredContent {
    if (content.body.length > MAX_UNPACKED_BYTES) return { ...content, dictionary: null }
    const bytes = joinContent(content)
    const state = this.#stateOf(type)
    const packed = state.packing?.packer.pack(bytes)
    const stored =
      packed === undefined ? { ...content, dictionary: null } : { compartments: '', body: packed, dictionary: state.packing!.dictionary }
    this.#learn(type, state, bytes)
    return stored
  }

  /** Clears the cache. Must be called after a rollback, which also removed the dictionaries of that transaction. */
  forget(): void {
    this.#types.clear()
  }

  #stateOf(type: string): TypeState {
    const known = this.#types.get(type)
    if (known !== undefined) return known
    const packings = this.#packingsOf(type)
    const state = new TypeState(this.#size, packings.length, packings.at(-1))
    this.#types.set(type, state)
    return state
  }

  /** Returns the intact dictionaries of a type, the oldest first. Damaged ones do not count, so new ones are built in their place. */
  #packingsOf(type: string): readonly Packing[] {
    const dictionaries = new Dictionaries(this.#db)
    return dictionaries.soundOf(type).map(([dictionary, bytes]) => ({ dictionary, packer: new Packer(bytes) }))
  }

  #learn(type: string, state: TypeState, bytes: Uint8Array): void {
    const next = state.see(bytes)
    if (next === undefined) return
    const dictionary = addDictionary(this.#db, type, next)
    state.made += 1
    state.packing = { dictionary, packer: new Packer(next) }
  }
}
