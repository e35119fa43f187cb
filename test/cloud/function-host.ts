/**
 * Runs the bundled functions of a template in processes of their own, with Lambda's rules: one event at a time in each, more processes for
 * more events, an end to what takes too long. https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'

export type HostedFunction = {
  /** The file that exports `handler`. */
  readonly bundle: string
  readonly environment: Readonly<Record<string, string>>
  /** Milliseconds. */
  readonly timeout: number
}

/** What an invocation ends with. `kind` is why there is no result. */
export type InvocationResult =
  | { readonly result: string }
  | { readonly kind: 'error' | 'timeout' | 'event too large' | 'result too large' | 'died'; readonly message: string }

export type FunctionHost = {
  readonly invoke: (name: string, event: unknown) => Promise<InvocationResult>
  /** Ends its processes in the middle of what they do. */
  readonly kill: (name: string) => void
  readonly printed: (name: string) => string
  /** The lines of all functions that tell of errors, each with its function before it. */
  readonly errors: () => readonly string[]
  readonly close: () => Promise<void>
}

/** Of an event and of a result of a synchronous invocation, as JSON. */
export const MAX_PAYLOAD_BYTES = 6 * 1024 * 1024
/** How much longer than on AWS anything may take here, on a machine that others use too: limits of time have tests of their own. */
export const SLOWDOWN_FACTOR = 5
const MAX_INSTANCES = 4
const MAX_OUTPUT = 100_000

type Answer = { readonly id: number; readonly result?: string; readonly error?: string }
type Instance = { readonly process: ChildProcess; busy: boolean }

export function functionHost(functions: Readonly<Record<string, HostedFunction>>): FunctionHost {
  const pools = new Map<string, Pool>()
  let isClosed = false
  const poolOf = (name: string): Pool => {
    const hosted = functions[name]
    if (hosted === undefined) throw new Error(`no function ${name}`)
    if (!pools.has(name)) pools.set(name, new Pool(hosted))
    return pools.get(name)!
  }
  return {
    async invoke(name, event) {
      if (isClosed) return { kind: 'died', message: 'the functions are no longer run' }
      const text = JSON.stringify(event)
      if (Buffer.byteLength(text) > MAX_PAYLOAD_BYTES) return { kind: 'event too large', message: `${Buffer.byteLength(text)} bytes` }
      const invoked = await poolOf(name).invoke(text)
      return 'result' in invoked && Buffer.byteLength(invoked.result) > MAX_PAYLOAD_BYTES
        ? { kind: 'result too large', message: `${Buffer.byteLength(invoked.result)} bytes` }
        : invoked
    },
    kill: (name) => pools.get(name)?.kill(),
    printed: (name) => pools.get(name)?.output ?? '',
    errors: () => [...pools].flatMap(([name, { output }]) => errorsIn(output).map((line) => `${name}: ${line}`)),
    async close() {
      isClosed = true
      await Promise.all([...pools.values()].map((pool) => pool.close()))
    },
  }
}

const errorsIn = (output: string): readonly string[] => output.split('\n').filter((line) => line.includes('"level":"error"'))

let code: string | undefined

/** A process of function-process.ts. Its types are stripped here, so that it starts as fast as a process of Lambda. */
export function startFunction(bundle: string, environment: Readonly<Record<string, string>>): ChildProcess {
  code ??= stripTypeScriptTypes(readFileSync(`${import.meta.dirname}/function-process.ts`, 'utf8'))
  return spawn(process.execPath, ['--input-type=module', '--eval', code, bundle], {
    env: { PATH: process.env.PATH, ...environment },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
}

class Pool {
  readonly #function: HostedFunction
  readonly #instances = new Set<Instance>()
  readonly #waiting: (() => void)[] = []
  #count = 0
  output = ''

  constructor(hosted: HostedFunction) {
    this.#function = hosted
  }

  async invoke(event: string): Promise<InvocationResult> {
    const instance = await this.#takeInstance()
    try {
      return await this.#run(instance, event)
    } finally {
      instance.busy = false
      this.#waiting.shift()?.()
    }
  }

  kill(): void {
    for (const { process } of this.#instances) process.kill('SIGKILL')
  }

  async close(): Promise<void> {
    await Promise.all(
      [...this.#instances].map(({ process }) => {
        const ended = new Promise((resolve) => process.once('exit', resolve))
        process.kill('SIGKILL')
        return ended
      }),
    )
  }

  async #takeInstance(): Promise<Instance> {
    for (;;) {
      // One that is being ended takes nothing more.
      const idle = [...this.#instances].find(({ busy, process }) => !busy && !process.killed && process.connected)
      const instance = idle ?? (this.#instances.size < MAX_INSTANCES ? this.#start() : undefined)
      if (instance !== undefined) {
        instance.busy = true
        return instance
      }
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    }
  }

  #start(): Instance {
    const { bundle, environment } = this.#function
    const child = startFunction(bundle, environment)
    const instance = { process: child, busy: false }
    this.#instances.add(instance)
    for (const stream of [child.stdout!, child.stderr!]) {
      stream.on('data', (data) => {
        this.output = `${this.output}${data}`.slice(-MAX_OUTPUT)
      })
    }
    child.once('exit', () => {
      this.#instances.delete(instance)
      this.#waiting.shift()?.()
    })
    return instance
  }

  #run({ process: child }: Instance, event: string): Promise<InvocationResult> {
    const id = ++this.#count
    const { timeout } = this.#function
    return new Promise((resolve) => {
      const late = setTimeout(() => {
        end({ kind: 'timeout', message: `no result in ${timeout} ms` })
        child.kill('SIGKILL')
      }, timeout)
      const onExit = () => end({ kind: 'died', message: this.output.slice(-2_000) })
      const onMessage = (answer: Answer) => {
        if (answer.id !== id) return
        end(answer.result === undefined ? { kind: 'error', message: answer.error ?? '' } : { result: answer.result })
      }
      const end = (invoked: InvocationResult) => {
        clearTimeout(late)
        child.off('exit', onExit).off('message', onMessage)
        resolve(invoked)
      }
      child.on('message', onMessage).once('exit', onExit)
      // Who was ended a moment ago has no channel any more, and has not exited yet.
      child.send({ id, event, remaining: timeout }, (error) => error !== null && onExit())
    })
  }
}
