/**
 * A machine that runs an export and breaks at one of its calls to the world: it dies before it, or when it was done and nobody heard of it; or
 * the call hangs, and goes on when another machine has taken over. Between calls others write.
 */
import type { ExportParts } from '../../lambdas/export/steps.ts'
import type { BlobParts } from '../../lambdas/ports/blob-store.ts'

export type Fault = 'dies before' | 'dies after' | 'hangs' | 'fails once' | 'fails once, unheard'

export class Machine {
  calls = 0
  /** The call that hung goes on. */
  readonly goOn: () => void
  /** It has come to the call. */
  readonly met: Promise<void>
  readonly #fault: Fault | undefined
  readonly #at: number
  readonly #between: (calls: number) => Promise<void>
  readonly #tellMet: () => void
  readonly #hung: Promise<void>
  #isDead = false

  constructor(fault: Fault | undefined, at: number, between: (calls: number) => Promise<void>) {
    const [met, hung] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    this.#fault = fault
    this.#at = at
    this.#between = between
    this.met = met.promise
    this.#tellMet = met.resolve
    this.#hung = hung.promise
    this.goOn = hung.resolve
  }

  parts<Parts extends Pick<ExportParts, 'rows' | 'blobs' | 'resources'>>(parts: Parts): Parts {
    const blobs = this.#watched(parts.blobs, {
      openParts: async (...input) => this.#watched<BlobParts>(await parts.blobs.openParts(...input), {}),
    })
    return { ...parts, rows: this.#watched(parts.rows, {}), blobs, resources: this.#watched(parts.resources, {}) }
  }

  #watched<Port extends object>(port: Port, own: Partial<Port>): Port {
    return new Proxy(port, {
      get: (_, name) => {
        const member = own[name as keyof Port] ?? port[name as keyof Port]
        if (typeof member !== 'function') return member
        return (...input: unknown[]) => {
          if (name === 'scan' || name === 'list') return this.#each(() => member.apply(port, input) as AsyncIterable<unknown>)
          return this.#call(() => member.apply(port, input) as Promise<unknown>)
        }
      },
    })
  }

  async *#each(open: () => AsyncIterable<unknown>): AsyncGenerator<unknown> {
    const items = open()[Symbol.asyncIterator]()
    for (;;) {
      const next = await this.#call(() => items.next())
      if (next.done === true) return
      yield next.value
    }
  }

  async #call<Output>(call: () => Promise<Output>): Promise<Output> {
    if (this.#isDead) throw new Error('dead')
    const mine = ++this.calls === this.#at
    if (mine) this.#tellMet()
    if (mine && this.#fault === 'hangs') await this.#hung
    this.#break(mine && (this.#fault === 'dies before' || this.#fault === 'fails once'))
    await this.#between(this.calls)
    const output = await call()
    this.#break(mine && (this.#fault === 'dies after' || this.#fault === 'fails once, unheard'))
    if (this.#isDead) throw new Error('dead')
    return output
  }

  #break(isNow: boolean): void {
    if (!isNow) return
    this.#isDead = this.#fault === 'dies before' || this.#fault === 'dies after'
    throw new Error(this.#fault)
  }
}
