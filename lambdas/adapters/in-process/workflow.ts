/**
 * Workflow in this process: executions of the state machine that runs on AWS. Executions are not stored: the caller of `start` must start
 * them again after a restart. After a map has failed, its execution begins no further step of a map.
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
  /** Executes each task with its input. */
  readonly step: (input: never) => Promise<unknown>
  /** Maximum concurrent steps of maps, over all executions. */
  readonly writers: number
  /** Receives the error of a failed execution. */
  readonly report: (error: unknown) => void
  /** Pause between attempts of a step. */
  readonly pause?: Pause
  /** Milliseconds that a Wait takes. Default: the value in the definition. */
  readonly waits?: number
}

type Execution = { readonly name: string; readonly all: AbortController; readonly maps: AbortController }

/** Maximum bytes of input and output. https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html */
const MOST = 262_144

export class InProcessWorkflow implements Workflow {
  readonly #options: InProcessWorkflowOptions
  readonly #prepared: PreparedStateMachine
  readonly #turns: ConcurrencyLimit
  readonly #executions = new Map<string, Execution>()
  /** Executions and steps in progress. A step may outlive an execution that was stopped. */
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

  /** Resolves when no execution and no step is in progress. */
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

  #handler(execution: Execution, { retry, isInMap }: TaskState): (input: unknown) => Promise<unknown> {
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
        if (isInMap) execution.maps.abort()
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

/** Reads all events, because the library retains unread ones. */
async function drained(events: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of events);
}

/** Returns the value as the service would transmit it. A value that is too large ends the execution there, and no Catch applies. */
function carried(value: unknown): unknown {
  const text = JSON.stringify(value ?? null)
  if (Buffer.byteLength(text) <= MOST) return JSON.parse(text)
  throw Object.assign(new Error(`more than ${MOST} bytes between two steps`), { name: 'States.DataLimitExceeded', isCatchable: false })
}
