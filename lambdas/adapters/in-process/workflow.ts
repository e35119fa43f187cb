/**
 * Workflow in this process. It executes the same state machine as Step Functions on AWS. Executions are not stored: after a restart, the
 * caller must start them again. After an uncaught failure in a map, the execution begins no further steps of maps.
 */
import type { StateMachine } from 'aws-local-stepfunctions'
import type { Workflow } from '../../ports/execution/workflow.ts'
import { checkWorkflowName } from '../../ports/execution/workflow-name.ts'
import { ConcurrencyLimit } from './concurrency-limit.ts'
import {
  abortablePause,
  type Pause,
  type PreparedStateMachine,
  prepareStateMachine,
  runWithRetries,
  type TaskState,
} from './state-machine.ts'

export type InProcessWorkflowOptions = {
  /** State machine in Amazon States Language, with JSONPath. https://states-language.net/spec.html */
  readonly definition: object
  /** Executes one task with its input. */
  readonly step: (input: never) => Promise<unknown>
  /** Maximum concurrent steps of maps, in all executions together. */
  readonly writers: number
  /** Receives the error of each execution that failed. */
  readonly report: (error: unknown) => void
  /** Waits between two attempts of a task. Default: `abortablePause`. */
  readonly pause?: Pause
  /** Milliseconds that each Wait state takes. Default: the time in the definition. */
  readonly waits?: number
}

type Execution = { readonly name: string; readonly all: AbortController; readonly maps: AbortController }

/** Maximum bytes of the input or output of a task, as on AWS. https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html */
const MOST = 262_144

export class InProcessWorkflow implements Workflow {
  readonly #options: InProcessWorkflowOptions
  readonly #prepared: PreparedStateMachine
  readonly #turns: ConcurrencyLimit
  readonly #executions = new Map<string, Execution>()
  /** Executions and steps in progress. A running step continues after its execution is stopped. */
  readonly #underWay = new Set<Promise<unknown>>()
  #machine: Promise<StateMachine> | undefined
  #isClosed = false

  constructor(options: InProcessWorkflowOptions) {
    this.#options = options
    this.#prepared = prepareStateMachine(options.definition)
    this.#turns = new ConcurrencyLimit(options.writers)
  }

  async start(name: string, input: Readonly<Record<string, unknown>>): Promise<void> {
    checkWorkflowName(name)
    if (this.#isClosed) throw new Error('the workflow is closed')
    if (this.#executions.has(name)) return
    const given = carried(input)
    const execution = { name, all: new AbortController(), maps: new AbortController() }
    this.#executions.set(name, execution)
    try {
      this.#machine ??= this.#load()
      this.#track(this.#run(await this.#machine, execution, given))
    } catch (error) {
      this.#machine = undefined
      this.#end(execution)
      throw error
    }
  }

  async stop(name: string): Promise<void> {
    checkWorkflowName(name)
    const execution = this.#executions.get(name)
    if (execution !== undefined) this.#end(execution)
  }

  async isRunning(name: string): Promise<boolean> {
    checkWorkflowName(name)
    return this.#executions.has(name)
  }

  /** Resolves when no execution and no step is in progress. Does not stop them. */
  async idle(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.allSettled(this.#underWay)
  }

  /** Stops all executions. Resolves when the running steps have ended. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const execution of [...this.#executions.values()]) this.#end(execution)
    await this.idle()
  }

  /** Loads the library on first use. It takes a quarter of a second and 30 MB, which a server without exports saves. */
  async #load(): Promise<StateMachine> {
    const { StateMachine } = await import('aws-local-stepfunctions')
    return new StateMachine(this.#prepared.definition as never, { validationOptions: { noValidate: true } })
  }

  async #run(machine: StateMachine, execution: Execution, input: unknown): Promise<void> {
    if (execution.all.signal.aborted) return
    const { tasks, waits } = this.#prepared
    const { waits: time } = this.#options
    const { result, abort, eventLogs } = machine.run(input as never, {
      overrides: {
        taskResourceLocalHandlers: Object.fromEntries(tasks.map((task) => [task.name, this.#handler(execution, task)])) as never,
        ...(time === undefined ? {} : { waitTimeOverrides: Object.fromEntries(waits.map((name) => [name, time])) }),
      },
      context: { Execution: { Name: execution.name } } as never,
    })
    execution.all.signal.addEventListener('abort', abort, { once: true })
    void drained(eventLogs)
    try {
      await result
    } catch (error) {
      if (!execution.all.signal.aborted)
        this.#options.report(new Error(`the execution ${execution.name} failed`, { cause: (error as Error).cause ?? error }))
    } finally {
      this.#end(execution)
    }
  }

  #handler(execution: Execution, { retry, isInMap, isCaught }: TaskState): (input: unknown) => Promise<unknown> {
    const { signal } = isInMap ? execution.maps : execution.all
    const { step, pause = abortablePause } = this.#options
    const once = async (input: unknown): Promise<unknown> => {
      signal.throwIfAborted()
      return this.#track(step(input as never))
    }
    return async (given) => {
      try {
        const input = carried(given)
        const work = isInMap ? () => this.#turns.taken(() => once(input)) : () => once(input)
        return carried(await runWithRetries(work, retry, { pause, signal }))
      } catch (error) {
        if (isInMap && !isCaught) execution.maps.abort()
        throw error
      }
    }
  }

  #end(execution: Execution): void {
    if (this.#executions.get(execution.name) === execution) this.#executions.delete(execution.name)
    execution.maps.abort()
    execution.all.abort()
  }

  #track<Result>(work: Promise<Result>): Promise<Result> {
    const tracked = work.finally(() => this.#underWay.delete(tracked))
    this.#underWay.add(tracked)
    return tracked
  }
}

/** Reads and discards all events, because the library retains unread ones in memory. */
async function drained(events: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of events);
}

/**
 * Returns the value as Step Functions would pass it on: converted to JSON and back. A value above MOST bytes fails the execution, and no
 * Catch applies.
 */
function carried(value: unknown): unknown {
  const text = JSON.stringify(value ?? null)
  if (Buffer.byteLength(text) <= MOST) return JSON.parse(text)
  throw Object.assign(new Error(`more than ${MOST} bytes between two steps`), { name: 'States.DataLimitExceeded', isCatchable: false })
}
