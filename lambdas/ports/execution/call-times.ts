/** Measures how long a request waits for other parts of the system. */
import { AsyncLocalStorage } from 'node:async_hooks'

/** Part of the system that a request waits for. `store`, `index`: threads of the embedded server; the others are services of AWS. */
export type Dependency = 'dynamodb' | 'opensearch' | 's3' | 'kms' | 'step-functions' | 'store' | 'index'

/** Waiting time in milliseconds, and the part of it for each dependency. Concurrent calls count once in `waited`, so the sum of `calls` may exceed it. */
export type CallSummary = { readonly waited: number; readonly calls: Readonly<Partial<Record<Dependency, number>>> }

/** Times of the calls of one request. */
export class CallTimes {
  readonly #now: () => number
  readonly #all = new OpenTime()
  readonly #of = new Map<Dependency, OpenTime>()

  /** `now`: milliseconds since any fixed instant. */
  constructor(now: () => number) {
    this.#now = now
  }

  /** Runs `work`. Calls in it that use `timed` are measured, also after an await. */
  collect<Result>(work: () => Promise<Result>): Promise<Result> {
    return current.run(this, work)
  }

  async measure<Result>(dependency: Dependency, call: () => Promise<Result>): Promise<Result> {
    let own = this.#of.get(dependency)
    if (own === undefined) {
      own = new OpenTime()
      this.#of.set(dependency, own)
    }
    own.begin(this.#now())
    this.#all.begin(this.#now())
    try {
      return await call()
    } finally {
      own.end(this.#now())
      this.#all.end(this.#now())
    }
  }

  get summary(): CallSummary {
    const now = this.#now()
    return {
      waited: this.#all.totalAt(now),
      calls: Object.fromEntries([...this.#of].map(([dependency, time]) => [dependency, time.totalAt(now)])),
    }
  }
}

/** Time during which at least one call is open. */
class OpenTime {
  #open = 0
  #began = 0
  #total = 0

  begin(now: number): void {
    if (this.#open++ === 0) this.#began = now
  }

  end(now: number): void {
    if (--this.#open === 0) this.#total += now - this.#began
  }

  /** Includes the calls that have not ended. A request may be answered before them. */
  totalAt(now: number): number {
    return this.#total + (this.#open === 0 ? 0 : now - this.#began)
  }
}

const current = new AsyncLocalStorage<CallTimes>()

/** Makes a call for the current request, and adds its time to those of the request if they are collected. */
export const timed = <Result>(dependency: Dependency, call: () => Promise<Result>): Promise<Result> =>
  current.getStore()?.measure(dependency, call) ?? call()
