/** Seal that reads its key only when it is needed. */
import type { QueryDigest } from '../../ports/security/query-digest.ts'
import type { Seal } from '../../ports/security/seal.ts'
import { sealOfEpoch } from './epoch-seal.ts'
import { AesSeal } from './seal.ts'

export class LazySeal implements Seal, QueryDigest {
  readonly #readKey: () => Promise<Uint8Array>
  readonly #epoch: number
  #opening: Promise<void> | undefined
  #seal: Seal | undefined
  #digests: QueryDigest | undefined

  /** `readKey`: reads the key of the seal. `epoch`: restore generation of the store. */
  constructor(readKey: () => Promise<Uint8Array>, epoch: number) {
    this.#readKey = readKey
    this.#epoch = epoch
  }

  /** Reads the key. Must have resolved before anything is sealed, opened or digested. After a failure the next call tries again. */
  ready(): Promise<void> {
    this.#opening ??= this.#readKey().then(
      (key) => {
        const opened = new AesSeal(key)
        this.#seal = sealOfEpoch(opened, this.#epoch)
        this.#digests = opened
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
    if (this.#digests === undefined) throw new Error('the seal is not ready')
    return this.#digests.digest(query)
  }

  get #opened(): Seal {
    if (this.#seal === undefined) throw new Error('the seal is not ready')
    return this.#seal
  }
}
