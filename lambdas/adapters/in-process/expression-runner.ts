/** ExpressionRunner in a separate process. It starts on first use, ends when idle, and is killed if an evaluation does not stop. */
import { type ChildProcess, fork } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { Evaluation, EvaluationResult, ExpressionBudget, ExpressionRunner } from '../../ports/execution/expression-runner.ts'
import { MachineFault } from '../../ports/faults.ts'

/**
 * Evaluations that the program receives together. It replies with results in this order. It stops after the first evaluation that was too
 * costly, or once the group has taken `all`. `each`: limit of one evaluation. Both limits are milliseconds of processor time.
 */
export type EvaluationGroup = { readonly evaluations: readonly Evaluation[]; readonly each: number; readonly all: number }

export type ExpressionRunnerOptions = {
  /** Path of the program to run. It sends 'ready', then receives EvaluationGroups. */
  readonly program: string
  /** Maximum size of the heap of the process, in MB. */
  readonly memory?: number
  /** Milliseconds without a running or waiting evaluation after which the process ends. */
  readonly idle?: number
  /** Environment variables of the process. It sees no others. */
  readonly environment?: Readonly<Record<string, string>>
}

const MEMORY = 256
const IDLE = 60_000
/** Maximum waiting calls of one tenant, and of all tenants (MOST_WAITING_IN_ALL). A further call throws the fault `overloaded`. */
const MOST_WAITING = 64
const MOST_WAITING_IN_ALL = 256
/** Maximum evaluations of a group. The size doubles up to it while groups take little time. */
const LARGEST_GROUP = 32
/** Maximum characters of the resources of a group. A longer evaluation is a group by itself. */
const MOST_CHARACTERS = 1_000_000
/** SHORT: ms up to which a group lets the next one be larger. TURN: maximum processor ms of a group, then another call gets its turn. */
const SHORT = 20
const TURN = 300
/** Interval in milliseconds at which a running group is checked for lateness. */
const LOOK = 500
/** A group is late above MARGIN × its limits in processor time. If that time is unknown: above PATIENCE × `each` in elapsed time. */
const MARGIN = 2
const PATIENCE = 8
/** Maximum milliseconds of elapsed time for a group whose processor time is known. After that it is late. */
const MOST_PATIENCE = 30_000
/** Assumed milliseconds of processor time that loading the program takes. Charged if the process must be replaced. */
const START = 250
/** Maximum milliseconds that a new process may take to load its program. */
const LONGEST_START = 30_000

type Running = {
  readonly child: ChildProcess
  readonly ready: Promise<boolean>
  /** Whether no evaluation in the process was too costly. A too costly one may have filled its memory. */
  isFresh: boolean
}
type Reply = readonly EvaluationResult[] | 'late' | 'ended'

/** Waiting call. `left` and `overruns` are the rest of its budget. */
type Call = {
  readonly caller: string
  readonly evaluations: readonly Evaluation[]
  readonly each: number
  left: number
  overruns: number
  /** Maximum evaluations of the next group of this call. */
  size: number
  readonly done: EvaluationResult[]
  readonly settle: (result: readonly EvaluationResult[] | Promise<never>) => void
}

export class ForkedExpressionRunner implements ExpressionRunner {
  readonly #options: Required<ExpressionRunnerOptions>
  #running: Running | undefined
  /** Waiting calls by tenant, in turn order. A served tenant moves to the end, and within it the calls of the served caller do. */
  readonly #waiting = new Map<string, Call[]>()
  #isBusy = false
  /** Milliseconds spent on groups that must be evaluated again, and are not charged yet. */
  #lost = 0
  #idle: NodeJS.Timeout | undefined
  #isClosed = false

  constructor({ program, memory = MEMORY, idle = IDLE, environment = {} }: ExpressionRunnerOptions) {
    this.#options = { program, memory, idle, environment }
  }

  async evaluate(evaluations: readonly Evaluation[], budget: ExpressionBudget): Promise<readonly EvaluationResult[]> {
    if (evaluations.length === 0) return []
    const { each, all: left, overruns, whose = '', caller = '' } = budget
    const calls = this.#waiting.get(whose) ?? []
    const all = [...this.#waiting.values()].reduce((sum, { length }) => sum + length, 0)
    if (calls.length >= MOST_WAITING || all >= MOST_WAITING_IN_ALL)
      throw new MachineFault('overloaded', 'too many expressions are waiting to be evaluated')
    clearTimeout(this.#idle)
    return new Promise((settle) => {
      calls.push({ caller, evaluations, each, left, overruns, size: 1, done: [], settle })
      this.#waiting.set(whose, calls)
      if (!this.#isBusy) void this.#work()
    })
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#idle)
    this.#end()
  }

  /** Evaluates one group after the other, each in the turn of its call, until no call waits. */
  async #work(): Promise<void> {
    this.#isBusy = true
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      const [whose, [call]] = next
      const failed = await this.#goOn(call).then(
        () => undefined,
        (error: unknown) => ({ error }),
      )
      const isDone = failed !== undefined || isOver(call)
      const calls = afterTurn(this.#waiting.get(whose)!, call, isDone)
      this.#waiting.delete(whose)
      if (calls.length > 0) this.#waiting.set(whose, calls)
      if (isDone) call.settle(failed === undefined ? outcomesOf(call) : Promise.reject(failed.error))
    }
    this.#isBusy = false
    this.#rest()
  }

  #next(): readonly [whose: string, calls: [Call, ...Call[]]] | undefined {
    return this.#waiting.entries().next().value as [string, [Call, ...Call[]]] | undefined
  }

  /** Ends the process after the idle time, or at once if an evaluation was too costly and may have filled its memory. */
  #rest(): void {
    if (this.#running?.isFresh === false) this.#end()
    else this.#idle = setTimeout(() => this.#end(), this.#options.idle).unref()
  }

  async #goOn(call: Call): Promise<void> {
    if (isOver(call)) return
    const outcomes = await this.#ask({ evaluations: groupOf(call), each: call.each, all: Math.min(TURN, call.left) }, call)
    for (const outcome of outcomes) {
      call.left -= outcome.ms + (outcome.lost ?? 0)
      if (isTooCostly(outcome)) call.overruns--
    }
    call.done.push(...outcomes)
  }

  /** Evaluates a group. Returns results up to the first that was too costly, or none if the group must be evaluated again. */
  async #ask(group: EvaluationGroup, call: Call): Promise<readonly EvaluationResult[]> {
    const running = await this.#started()
    const began = performance.now()
    const reply = await replyOf(running.child, group)
    if (typeof reply === 'string') return this.#afterEnd(group, call, reply, running.isFresh)
    running.isFresh &&= !reply.some(isTooCostly)
    call.size = performance.now() - began > SHORT ? 1 : Math.min(2 * call.size, LARGEST_GROUP)
    return this.#withLost(reply)
  }

  /**
   * Handles a late group or the end of the process. A single evaluation in a fresh process is too costly; others are repeated one by one.
   */
  #afterEnd({ evaluations, each }: EvaluationGroup, call: Call, reply: 'late' | 'ended', isFresh: boolean): readonly EvaluationResult[] {
    this.#end()
    call.size = 1
    const ms = each + START
    if (evaluations.length === 1 && isFresh)
      return this.#withLost([{ failure: 'too-costly', name: reply === 'late' ? 'TookTooLong' : 'TooCostly', reason: '', ms }])
    this.#lost += ms
    return []
  }

  /** Adds the lost time to the first result. So the next call is charged for it, even if another caller caused it. */
  #withLost([first, ...others]: readonly EvaluationResult[]): readonly EvaluationResult[] {
    const lost = this.#lost
    this.#lost = 0
    return first === undefined ? [] : [lost === 0 ? first : { ...first, lost }, ...others]
  }

  async #started(): Promise<Running> {
    if (this.#isClosed) throw new Error('the runner of expressions is closed')
    this.#running ??= start(this.#options)
    const running = this.#running
    if (await running.ready) return running
    this.#end()
    throw new Error('the process that evaluates expressions does not start')
  }

  #end(): void {
    this.#running?.child.kill('SIGKILL')
    this.#running = undefined
  }
}

/** Returns the waiting calls of a tenant after a turn: calls of the same caller last, without the call if it is done. */
function afterTurn(calls: readonly Call[], { caller }: Call, isDone: boolean): Call[] {
  const own = calls.filter((each) => each.caller === caller)
  return [...calls.filter((each) => each.caller !== caller), ...(isDone ? own.slice(1) : own)]
}

const NOT_BEGUN: EvaluationResult = { failure: 'too-costly', name: 'TookTooLong', reason: '', ms: 0 }

const isOver = ({ evaluations, done, left, overruns }: Call): boolean => done.length >= evaluations.length || left <= 0 || overruns <= 0

const outcomesOf = ({ evaluations, done }: Call): readonly EvaluationResult[] => [
  ...done,
  ...Array.from({ length: evaluations.length - done.length }, () => NOT_BEGUN),
]

function groupOf({ evaluations, done, size }: Call): readonly Evaluation[] {
  const from = done.length
  let [to, characters] = [from, 0]
  while (to < evaluations.length && to - from < size) {
    const { resource, focus = '' } = evaluations[to]!
    characters += resource.length + focus.length
    if (to > from && characters > MOST_CHARACTERS) break
    to++
  }
  return evaluations.slice(from, to)
}

const isTooCostly = (outcome: EvaluationResult): boolean => 'failure' in outcome && outcome.failure === 'too-costly'

function start({ program, memory, environment }: Required<ExpressionRunnerOptions>): Running {
  const child = fork(program, {
    execArgv: [`--max-old-space-size=${memory}`],
    env: environment,
    // Discard all output of the process, because it may contain clinical data.
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    serialization: 'advanced',
  })
  const ready = new Promise<boolean>((resolve) => {
    const timer = setTimeout(() => resolve(false), LONGEST_START)
    const settle = (isReady: boolean) => {
      clearTimeout(timer)
      resolve(isReady)
    }
    child.once('message', () => settle(true))
    child.once('exit', () => settle(false))
    child.on('error', () => settle(false))
  })
  return { child, ready: ready.finally(() => rest(child)), isFresh: true }
}

/** Allows the server to exit while the process runs. */
function rest(child: ChildProcess): void {
  child.unref()
  child.channel?.unref()
}

function replyOf(child: ChildProcess, group: EvaluationGroup): Promise<Reply> {
  return new Promise((resolve) => {
    const settle = (reply: Reply): void => {
      clearTimeout(timer)
      child.off('message', settle)
      child.off('exit', ended)
      rest(child)
      resolve(reply)
    }
    const ended = () => settle('ended')
    const isLate = lateness(child.pid, group)
    let timer = setTimeout(look, LOOK)
    // Receive pending messages before the check: a reply may have arrived while this thread was busy.
    function look(): void {
      setImmediate(() => {
        if (isLate()) settle('late')
        else timer = setTimeout(look, LOOK)
      })
    }
    child.on('message', settle)
    child.once('exit', ended)
    child.ref()
    child.channel?.ref()
    if (child.connected) child.send(group, (error) => error !== null && ended())
    else ended()
  })
}

/** Returns a check whether the group is late. Time spent waiting for a processor does not count, up to MOST_PATIENCE. */
function lateness(pid: number | undefined, { each, all }: EvaluationGroup): () => boolean {
  const [began, before] = [performance.now(), processorTimeOf(pid)]
  return () => {
    const [waited, used] = [performance.now() - began, processorTimeOf(pid)]
    if (used === undefined || before === undefined) return waited > PATIENCE * each
    return used - before > MARGIN * (each + all) || waited > MOST_PATIENCE
  }
}

/** Returns the processor time of a process in ms, if readable. https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html */
function processorTimeOf(pid: number | undefined): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const [user, system] = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .slice(11, 13)
    return (Number(user) + Number(system)) * TICK
  } catch {
    return undefined
  }
}

/** Milliseconds per clock tick, the unit of /proc/PID/stat. */
const TICK = 10
