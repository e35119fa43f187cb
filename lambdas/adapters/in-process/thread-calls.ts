/** Calls methods of another thread by messages. Arguments and results are copied, so they must be plain data. */

/** Methods of one side, by name. */
export type Methods = Readonly<Record<string, (...of: never[]) => unknown>>

export type CallMessage =
  | { readonly kind: 'call'; readonly number: number; readonly method: string; readonly of: readonly unknown[] }
  | { readonly kind: 'result'; readonly number: number; readonly result: unknown }
  | { readonly kind: 'fault'; readonly number: number; readonly name: string; readonly message: string }

type Waiting = { readonly resolve: (result: never) => void; readonly reject: (error: Error) => void }

export class ThreadCalls {
  readonly #post: (message: CallMessage) => void
  readonly #methods: Methods
  readonly #waiting = new Map<number, Waiting>()
  #number = 0

  /** `methods`: methods of this side that the other side may call. */
  constructor(post: (message: CallMessage) => void, methods: Methods) {
    this.#post = post
    this.#methods = methods
  }

  /** Calls a method of the other side. If it fails, the call rejects with an Error of the same name and message. */
  call<Result>(method: string, ...of: readonly unknown[]): Promise<Result> {
    const number = ++this.#number
    return new Promise((resolve, reject) => {
      this.#waiting.set(number, { resolve, reject })
      this.#post({ kind: 'call', number, method, of })
    })
  }

  receive(message: CallMessage): void {
    if (message.kind === 'call') return void this.#answer(message)
    const waiting = this.#waiting.get(message.number)
    this.#waiting.delete(message.number)
    if (message.kind === 'result') waiting?.resolve(message.result as never)
    else waiting?.reject(Object.assign(new Error(message.message), { name: message.name }))
  }

  /** Rejects all pending calls. Must be called when the other side has ended. */
  end(error: Error): void {
    for (const { reject } of this.#waiting.values()) reject(error)
    this.#waiting.clear()
  }

  async #answer({ number, method, of }: Extract<CallMessage, { readonly kind: 'call' }>): Promise<void> {
    try {
      const result = await this.#methods[method]!(...(of as never[]))
      this.#post({ kind: 'result', number, result })
    } catch (error) {
      const { name = 'Error', message = String(error) } = error as Partial<Error>
      this.#post({ kind: 'fault', number, name, message })
    }
  }
}
