/**
 * A machine that runs an export and fails at one of its calls to the stores. It dies before the call or after it, without seeing the result,
 * or the call hangs and continues after another machine has taken over. Other writers write between calls.
 */
import type { ExportParts } from '../../lambdas/export/step-types.ts'
import type { BlobParts } from '../../lambdas/ports/blobs/blob-store.ts'

type Stores = Pick<ExportParts, 'rows' | 'blobs' | 'resources' | 'matchLimits'>
export type CallWatcher = <Output>(call: () => Promise<Output>) => Promise<Output>

/** Wraps the stores so that `watching` makes each call and each step through a listing. */
export function watchStores<Parts extends Stores>(parts: Parts, watching: CallWatcher): Parts {
  const blobs = watchedPort(parts.blobs, watching, {
    openParts: async (...input) => watchedPort<BlobParts>(await parts.blobs.openParts(...input), watching),
  })
  const { rows, resources, matchLimits } = parts
  const watched = { rows: watchedPort(rows, watching), resources: watchedPort(resources, watching) }
  return { ...parts, ...watched, blobs, matchLimits: watchedPort(matchLimits, watching) }
}

const watchedPort = <Port extends object>(port: Port, watching: CallWatcher, own: Partial<Port> = {}): Port =>
  new Proxy(port, {
    get: (_, name) => {
      const member = own[name as keyof Port] ?? port[name as keyof Port]
      if (typeof member !== 'function') return member
      return (...input: unknown[]) => {
        if (name === 'scan' || name === 'list') return each(() => member.apply(port, input) as AsyncIterable<unknown>, watching)
        return watching(() => member.apply(port, input) as Promise<unknown>)
      }
    },
  })

async function* each(open: () => AsyncIterable<unknown>, watching: CallWatcher): AsyncGenerator<unknown> {
  const items = open()[Symbol.asyncIterator]()
  for (;;) {
    const next = await watching(() => items.next())
    if (next.done === true) return
    yield next.value
  }
}

export type StepFault = 'dies before' | 'dies after' | 'hangs' | 'fails once' | 'fails once, unheard'

export class Machine {
  calls = 0
  /** Lets the call that hung continue. */
  readonly goOn: () => void
  /** Resolves when the machine reaches the call. */
  readonly reached: Promise<void>
  readonly #fault: StepFault | undefined
  readonly #at: number
  readonly #between: (calls: number) => Promise<void>
  readonly #reportReached: () => void
  readonly #hung: Promise<void>
  #isDead = false

  constructor(fault: StepFault | undefined, at: number, between: (calls: number) => Promise<void>) {
    const [reached, hung] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    this.#fault = fault
    this.#at = at
    this.#between = between
    this.reached = reached.promise
    this.#reportReached = reached.resolve
    this.#hung = hung.promise
    this.goOn = hung.resolve
  }

  parts<Parts extends Stores>(parts: Parts): Parts {
    return watchStores(parts, (call) => this.#call(call))
  }

  async #call<Output>(call: () => Promise<Output>): Promise<Output> {
    if (this.#isDead) throw new Error('dead')
    const isTarget = ++this.calls === this.#at
    if (isTarget) this.#reportReached()
    if (isTarget && this.#fault === 'hangs') await this.#hung
    this.#break(isTarget && (this.#fault === 'dies before' || this.#fault === 'fails once'))
    await this.#between(this.calls)
    const output = await call()
    this.#break(isTarget && (this.#fault === 'dies after' || this.#fault === 'fails once, unheard'))
    if (this.#isDead) throw new Error('dead')
    return output
  }

  #break(isNow: boolean): void {
    if (!isNow) return
    this.#isDead = this.#fault === 'dies before' || this.#fault === 'dies after'
    throw new Error(this.#fault)
  }
}
