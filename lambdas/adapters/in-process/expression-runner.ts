/** ExpressionRunner on a process of its own, started when it is first needed, ended when an evaluation takes too long, and made anew. */
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
}

const MEMORY = 256
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
/** ms until the process has loaded its program. */
const LONGEST_START = 30_000

type Running = { readonly child: ChildProcess; readonly ready: Promise<boolean> }
type Reply = readonly Evaluated[] | 'late' | 'ended'

export class ForkedExpressionRunner implements ExpressionRunner {
  readonly #program: string
  readonly #memory: number
  #running: Running | undefined
  #turn: Promise<unknown> = Promise.resolve()
  #waiting = 0
  #size = 1
  #isClosed = false

  constructor({ program, memory = MEMORY }: ExpressionRunnerOptions) {
    this.#program = program
    this.#memory = memory
  }

  async evaluate(evaluations: readonly Evaluation[], budget: Budget): Promise<readonly Evaluated[]> {
    if (evaluations.length === 0) return []
    if (this.#waiting >= MOST_WAITING) throw new Overloaded('too many expressions are waiting to be evaluated')
    this.#waiting++
    const turn = this.#turn.then(() => this.#evaluateAll(evaluations, budget))
    this.#turn = turn.catch(() => undefined)
    return turn.finally(() => this.#waiting--)
  }

  close(): void {
    this.#isClosed = true
    this.#end()
  }

  async #evaluateAll(evaluations: readonly Evaluation[], { each, all }: Budget): Promise<readonly Evaluated[]> {
    const done: Evaluated[] = []
    let left = all
    while (done.length < evaluations.length && left > 0) {
      const group = this.#groupOf(evaluations, done.length)
      const reply = await this.#ask({ evaluations: group, each })
      const outcomes = typeof reply === 'string' ? this.#afterEnd(group, reply, each) : reply
      for (const outcome of outcomes) left -= outcome.ms
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

  /** Of several it is not known which one it was: they are evaluated again, one by one. */
  #afterEnd(group: readonly Evaluation[], reply: 'late' | 'ended', each: number): readonly Evaluated[] {
    this.#size = 1
    if (group.length > 1) return []
    return [{ failure: 'too-costly', name: reply === 'late' ? 'TookTooLong' : 'TooCostly', reason: '', ms: 2 * each }]
  }

  async #ask(group: Group): Promise<Reply> {
    const { child } = await this.#started()
    const began = performance.now()
    const reply = await replyOf(child, group)
    // What was too costly may lie in the memory of the next.
    if (typeof reply === 'string' || reply.some((each) => 'failure' in each && each.failure === 'too-costly')) this.#end()
    else if (performance.now() - began > SHORT) this.#size = 1
    else this.#size = Math.min(2 * this.#size, LARGEST_GROUP)
    return reply
  }

  async #started(): Promise<Running> {
    if (this.#isClosed) throw new Error('the runner of expressions is closed')
    this.#running ??= start(this.#program, this.#memory)
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

function start(program: string, memory: number): Running {
  const child = fork(program, {
    execArgv: [`--max-old-space-size=${memory}`],
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
  return { child, ready: ready.finally(() => rest(child)) }
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
    const timer = setTimeout(() => setImmediate(settle, 'late'), PATIENCE * group.each)
    child.on('message', settle)
    child.once('exit', ended)
    child.ref()
    child.channel?.ref()
    if (child.connected) child.send(group, (error) => error !== null && ended())
    else ended()
  })
}
