/**
 * Program of the process that evaluates FHIRPath of clients with fhirpath.js. It is not a thread, because a thread that runs out of memory
 * can end the whole server. A process can also be killed at any point.
 */
import type { EvaluationGroup } from '../../adapters/in-process/expression-runner.ts'
import type { ConformanceTest } from '../../fhir/path/client-functions.ts'
import {
  createInterpreter,
  type Interpreter as Evaluate,
  type InterpretedValue,
  loadInterpreter,
  reasonOf,
} from '../../fhir/path/interpreter.ts'
import { runEachWithin, type TimedOutcome } from '../../fhir/path/time-limit.ts'
import { CHARACTERS_PER_ITEM, spendWork, TooCostly } from '../../fhir/path/work-budget.ts'
import { isElement, type Resource } from '../../fhir/resource.ts'
import type {
  ConformanceAnswer,
  ConformanceQuestion,
  Evaluation,
  EvaluationResult,
  FoundElement,
  FoundValue,
} from '../../ports/execution/expression-runner.ts'

/** Maximum values in the result of one evaluation. A text counts as one more value per 64 characters. A larger result is `too-costly`. */
const MOST_VALUES = 100_000
/** Maximum prepared expressions in memory. When it is reached, the cache is emptied. */
const MOST_KNOWN = 500

const known = new Map<string, Evaluate>()

function evaluationOf({ expression, type, isShown = false }: Evaluation): Evaluate {
  const name = `${isShown} ${type} ${expression}`
  const found = known.get(name) ?? prepared(expression, type, isShown)
  if (known.size >= MOST_KNOWN) known.clear()
  known.set(name, found)
  return found
}

function prepared(expression: string, type: string, isShown: boolean): Evaluate {
  try {
    return createInterpreter(expression, type, { isShown })
  } catch (error) {
    const reason = error instanceof RangeError ? new Error('it is nested too deep') : error
    return () => {
      throw reason
    }
  }
}

/**
 * Prepared evaluation. `ms`: processor time of the preparation, which is part of the reported time. No limit stops the preparation, because
 * it fills grammar caches of fhirpath.js that all expressions share.
 */
type Work = { readonly ms: number; readonly values: () => readonly FoundValue[] }

/** Returns results in order, up to the first evaluation that exceeded a limit. That one is included if it started. */
function evaluatedOf({ evaluations, each, all }: EvaluationGroup): readonly EvaluationResult[] {
  const works = evaluations.map(workOf)
  const outcomes = runEachWithin(
    { each, all, overruns: 1 },
    works.map(({ values }) => values),
  )
  const stopped = outcomes.findIndex((outcome) => 'error' in outcome && isTooCostly(outcome.error))
  const isBegun = stopped < 0 || outcomes[stopped]!.ms > 0
  return (stopped < 0 ? outcomes : outcomes.slice(0, isBegun ? stopped + 1 : stopped)).map((outcome, i) =>
    told(outcome, outcome.ms + works[i]!.ms),
  )
}

function told(outcome: TimedOutcome<readonly FoundValue[]>, ms: number): EvaluationResult {
  if ('result' in outcome) return { ms, values: outcome.result }
  const { error } = outcome
  const name = error instanceof Error ? error.name : typeof error
  if (error instanceof Unanswered) return { ms, failure: 'unanswered', name, reason: '', questions: error.questions }
  return { ms, failure: isTooCostly(error) ? 'too-costly' : 'failed', name, reason: reasonOf(error) }
}

/** Whether the evaluation exceeded a limit. A RangeError is a stack overflow or a list that is too long. */
const isTooCostly = (error: unknown): boolean => error instanceof TooCostly || error instanceof RangeError

function workOf(evaluation: Evaluation): Work {
  const resource = JSON.parse(evaluation.resource) as Resource
  const focus = evaluation.focus === undefined ? resource : JSON.parse(evaluation.focus)
  const before = process.threadCpuUsage()
  const evaluate = evaluationOf(evaluation)
  const { user, system } = process.threadCpuUsage(before)
  return { ms: (user + system) / 1000, values: () => valuesOf(evaluate, focus, resource, evaluation.conformance) }
}

function valuesOf(
  evaluate: Evaluate,
  focus: unknown,
  resource: Resource,
  answers: readonly ConformanceAnswer[] | undefined,
): readonly FoundValue[] {
  const work = { left: MOST_VALUES }
  const places = new Places(focus, resource)
  const found =
    answers === undefined ? evaluate(focus, resource) : answered(answers, places, (conforms) => evaluate(focus, resource, conforms))
  return found.map((value) => {
    const found = foundOf(value, places)
    spendWork(work, 'value' in found && typeof found.value === 'string' ? 1 + found.value.length / CHARACTERS_PER_ITEM : 1)
    return found
  })
}

/** Maximum questions of `conformsTo()` about one resource, answered ones included. More are `too-costly`. */
const MOST_QUESTIONS = 1_000

class Unanswered extends Error {
  readonly questions: readonly ConformanceQuestion[]

  constructor(questions: readonly ConformanceQuestion[]) {
    super('conformsTo() has no answer')
    this.questions = questions
  }
}

/**
 * Evaluates with the given answers to `conformsTo()`. If an answer is missing, continues to collect all missing ones, discards the result,
 * and throws Unanswered with the questions.
 */
function answered<T>(answers: readonly ConformanceAnswer[], places: Places, evaluate: (conforms: ConformanceTest) => T): T {
  const keyOf = ({ at, canonical }: ConformanceQuestion): string => JSON.stringify([at, canonical])
  const known = new Map(answers.map((answer) => [keyOf(answer), answer.conforms]))
  const questions = new Map<string, ConformanceQuestion>()
  const conforms: ConformanceTest = (element, canonical) => {
    const question = { at: places.of(element)!.at, canonical }
    const key = keyOf(question)
    if (!known.has(key)) questions.set(key, question)
    if (answers.length + questions.size > MOST_QUESTIONS) throw new TooCostly()
    return known.get(key)
  }
  try {
    const result = evaluate(conforms)
    if (questions.size === 0) return result
  } catch (error) {
    if (questions.size === 0 || isTooCostly(error)) throw error
  }
  throw new Unanswered([...questions.values()])
}

function foundOf({ type, value, system, place: at }: InterpretedValue, places: Places): FoundValue {
  const named = system === undefined ? { type } : { type, system }
  const owner = at === undefined ? undefined : places.of(at.owner)
  if (owner !== undefined && at !== undefined)
    return { ...named, from: owner.from, at: [...owner.at, at.key, ...(at.index === undefined ? [] : [at.index])] }
  if (typeof value !== 'object' || value === null) return { ...named, value }
  const place = places.of(value)
  return place === undefined ? { ...named, value: JSON.parse(JSON.stringify(value)) } : { ...named, ...place }
}

/** Paths of all elements in the focus and in the resource. They are computed at the first lookup. */
class Places {
  readonly #focus: unknown
  readonly #resource: unknown
  #found: Map<object, FoundElement> | undefined

  constructor(focus: unknown, resource: unknown) {
    this.#focus = focus
    this.#resource = resource
  }

  of(element: object): FoundElement | undefined {
    if (this.#found === undefined) {
      this.#found = new Map()
      this.#walk(this.#resource, 'resource', [])
      if (this.#focus !== this.#resource) this.#walk(this.#focus, 'focus', [])
    }
    return this.#found.get(element)
  }

  #walk(tree: unknown, from: FoundElement['from'], at: FoundElement['at']): void {
    if (!isElement(tree) && !Array.isArray(tree)) return
    this.#found?.set(tree, { from, at })
    if (Array.isArray(tree)) for (const [i, each] of tree.entries()) this.#walk(each, from, [...at, i])
    else for (const [key, each] of Object.entries(tree)) this.#walk(each, from, [...at, key])
  }
}

// Ignore signals to the process group. The parent process ends this process on purpose or by exiting, and needs it until then.
process.on('SIGINT', () => undefined)
process.on('SIGTERM', () => undefined)
process.on('disconnect', () => process.exit())
process.on('message', (group: EvaluationGroup) => process.send?.(evaluatedOf(group)))

/** Evaluation at the start of the process. It loads code that is compiled lazily, before the first request needs it. */
const WARM: Evaluation = { expression: 'Patient.name.repeat(given).where($this.length() > 0)', type: 'Patient', resource: '{"resourceType":"Patient","name":[{"given":["a"]}]}' } // biome-ignore format: one evaluation

loadInterpreter().then(() => {
  evaluatedOf({ evaluations: [WARM], each: 10_000, all: 10_000 })
  process.send?.('ready')
})
