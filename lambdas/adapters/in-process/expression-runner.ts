/**
 * ExpressionRunner on a process of its own: started when it is first needed, and anew after an evaluation that could not be stopped
 * without it; ended when nothing was evaluated for a while.
 */
import { type ChildProcess, fork } from 'node:child_process'
import type { Budget, Evaluated, Evaluation, ExpressionRunner } from '../../ports/expression-runner.ts'
import { Overloaded } from '../../ports/overloaded.ts'

/** What the program of the process gets; it answers with outcomes in this order, up to the first that was stopped. */
export type Group = { readonly evaluations: readonly Evaluation[]; readonly each: number }

export type ExpressionRunnerOptions = {
  /** Path of the process's program: it sends 'ready', then takes Groups. */
  readonly program: string
  /** MB of its heap. */
  readonly memory?: number
  /** ms without an evaluation after which it is ended. */
  readonly idle?: number
  /** Of the process, which sees no other variables. */
  readonly environment?: Readonly<Record<string, string>>
}

const MEMORY = 256
const IDLE = 60_000
/** Evaluations that may wait at once. */
const MOST_WAITING = 64
/** In one group, as long as they take little. */
const LARGEST_GROUP = 32
/** Characters of a group; a longer one is a group by itself. */
const MOST_CHARACTERS = 1_000_000
/** ms a group may take to let the next be larger. */
const SHORT = 20
/** Times its processor time that an evaluation may take: what has to wait for its processor is not blamed at once. */
const PATIENCE = 8
/** ms for which any is waited. */
const LEAST_PATIENCE = 500
/** ms of processor time until a new process has loaded its program. */
const START = 250
/** ms until the process has loaded its program. */
const LONGEST_START = 30_000

type Running = {
  readonly child: ChildProcess
  readonly ready: Promise<boolean>
  /** Nothing that was too costly lies in its memory. */
  isFresh: boolean
}
type Reply = readonly Evaluated[] | 'late' | 'ended'

export class ForkedExpressionRunner implements ExpressionRunner {
  readonly #options: Required<ExpressionRunnerOptions>
  #running: Running | undefined
  #turn: Promise<unknown> = Promise.resolve()
  #waiting = 0
  #size = 1
  /** ms that went into groups which are evaluated again. */
  #lost = 0
  #idle: NodeJS.Timeout | undefined
  #isClosed = false

  constructor({ program, memory = MEMORY, idle = IDLE, environment = {} }: ExpressionRunnerOptions) {
    this.#options = { program, memory, idle, environment }
  }

  async evaluate(evaluations: readonly Evaluation[], budget: Budget): Promise<readonly Evaluated[]> {
    if (evaluations.length === 0) return []
    if (this.#waiting >= MOST_WAITING) throw new Overloaded('too many expressions are waiting to be evaluated')
    this.#waiting++
    clearTimeout(this.#idle)
    const turn = this.#turn.then(() => this.#evaluateAll(evaluations, budget))
    this.#turn = turn.catch(() => undefined)
    return turn.finally(() => {
      if (--this.#waiting === 0) this.#idle = setTimeout(() => this.#end(), this.#options.idle).unref()
    })
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#idle)
    this.#end()
  }

  async #evaluateAll(evaluations: readonly Evaluation[], { each, all, overruns }: Budget): Promise<readonly Evaluated[]> {
    const done: Evaluated[] = []
    for (let [left, tries] = [all, overruns]; done.length < evaluations.length && left > 0 && tries > 0; ) {
      const outcomes = await this.#ask({ evaluations: this.#groupOf(evaluations, done.length), each })
      for (const outcome of outcomes) {
        left -= outcome.ms + (outcome.lost ?? 0)
        if (isTooCostly(outcome)) tries--
      }
      done.push(...outcomes)
    }
    while (done.length < evaluations.length) done.push(NOT_BEGUN)
    return done
  }

  #groupOf(evaluations: readonly Evaluation[], from: number): readonly Evaluation[] {
    let [to, characters] = [from, 0]
    while (to < evaluations.length && to - from < this.#size) {
      const { resource, focus = '' } = evaluations[to]!
      characters += resource.length + focus.length
      if (to > from && characters > MOST_CHARACTERS) break
      to++
    }
    return evaluations.slice(from, to)
  }

  /** Outcomes up to the first that was too costly; none where the group is to be evaluated again. */
  async #ask(group: Group): Promise<readonly Evaluated[]> {
    const running = await this.#started()
    const began = performance.now()
    const reply = await replyOf(running.child, group)
    if (typeof reply === 'string') return this.#afterEnd(group, reply, running.isFresh)
    running.isFresh &&= !reply.some(isTooCostly)
    this.#size = performance.now() - began > SHORT ? 1 : Math.min(2 * this.#size, LARGEST_GROUP)
    return this.#withLost(reply)
  }

  /** Of several it is not known which one it was, nor whether it was one before them: they are evaluated again, one by one. */
  #afterEnd({ evaluations, each }: Group, reply: 'late' | 'ended', isFresh: boolean): readonly Evaluated[] {
    this.#end()
    this.#size = 1
    const ms = each + START
    if (evaluations.length === 1 && isFresh)
      return this.#withLost([{ failure: 'too-costly', name: reply === 'late' ? 'TookTooLong' : 'TooCostly', reason: '', ms }])
    this.#lost += ms
    return []
  }

  /** What was lost is not forgotten, whoever pays for it. */
  #withLost([first, ...others]: readonly Evaluated[]): readonly Evaluated[] {
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

const NOT_BEGUN: Evaluated = { failure: 'too-costly', name: 'TookTooLong', reason: '', ms: 0 }

const isTooCostly = (outcome: Evaluated): boolean => 'failure' in outcome && outcome.failure === 'too-costly'

function start({ program, memory, environment }: Required<ExpressionRunnerOptions>): Running {
  const child = fork(program, {
    execArgv: [`--max-old-space-size=${memory}`],
    env: environment,
    // What it prints may tell of the content.
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

/** Nobody has to wait for it to end. */
function rest(child: ChildProcess): void {
  child.unref()
  child.channel?.unref()
}

function replyOf(child: ChildProcess, group: Group): Promise<Reply> {
  return new Promise((resolve) => {
    const settle = (reply: Reply): void => {
      clearTimeout(timer)
      child.off('message', settle)
      child.off('exit', ended)
      rest(child)
      resolve(reply)
    }
    const ended = () => settle('ended')
    // What came while this thread was busy is read first.
    const timer = setTimeout(() => setImmediate(settle, 'late'), Math.max(LEAST_PATIENCE, PATIENCE * group.each))
    child.on('message', settle)
    child.once('exit', ended)
    child.ref()
    child.channel?.ref()
    if (child.connected) child.send(group, (error) => error !== null && ended())
    else ended()
  })
}
