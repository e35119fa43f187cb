/** A seal whose key is fetched before it is first used. */
import type { Seal } from '../../ports/seal.ts'
import { AesSeal } from './seal.ts'

export class OpenedSeal implements Seal {
  readonly #readKey: () => Promise<Uint8Array>
  #opening: Promise<void> | undefined
  #seal: Seal | undefined

  constructor(readKey: () => Promise<Uint8Array>) {
    this.#readKey = readKey
  }

  /** Must have resolved before anything is sealed or opened. A failure is tried again at the next call. */
  ready(): Promise<void> {
    this.#opening ??= this.#readKey().then(
      (key) => {
        this.#seal = new AesSeal(key)
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

  get #opened(): Seal {
    if (this.#seal === undefined) throw new Error('the seal is not ready')
    return this.#seal
  }
}
