/** Seal that reads its key only when it is needed. */
import type { QueryDigest } from '../../ports/security/query-digest.ts'
import type { Seal } from '../../ports/security/seal.ts'
import { sealOfEpoch } from './epoch-seal.ts'
import { AesSeal } from './seal.ts'

export class LazySeal implements Seal, QueryDigest {
  readonly #readKey: () => Promise<Uint8Array>
  readonly #epoch: number
  #opening: Promise<void> | undefined
  #seal: (Seal & QueryDigest) | undefined

  /** `readKey`: reads the key of the seal. `epoch`: restore generation of the store. */
  constructor(readKey: () => Promise<Uint8Array>, epoch: number) {
    this.#readKey = readKey
    this.#epoch = epoch
  }

  /** Reads the key. Must have resolved before anything is sealed, opened or digested. After a failure the next call tries again. */
  ready(): Promise<void> {
    this.#opening ??= this.#readKey().then(
      (key) => {
        this.#seal = sealOfEpoch(new AesSeal(key), this.#epoch)
      },
      (error: unknown) => {
        this.#opening = undefined
        throw error
      },
    )
    return this.#opening
  }

  seal(text: string, at: number): string {
    return this.#opened.seal(text, at)
  }

  open(sealed: string): ReturnType<Seal['open']> {
    return this.#opened.open(sealed)
  }

  digest(query: string): string {
    return this.#opened.digest(query)
  }

  get #opened(): Seal & QueryDigest {
    if (this.#seal === undefined) throw new Error('the seal is not ready')
    return this.#seal
  }
}
