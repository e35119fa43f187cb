/** `POST [base]/$apply-fhirpath`: evaluates a FHIRPath expression on a resource, and validates the resource. Specification 4.4 */
import { writeJson } from '../../fhir/json.ts'
import { type FhirError, fhirError, operationOutcomeOf } from '../../fhir/outcome.ts'
import { type Element, isElement, type Resource } from '../../fhir/resource.ts'
import type { ConformanceAnswer, EvaluationResult, FoundValue } from '../../ports/execution/expression-runner.ts'
import { MachineFault } from '../../ports/faults.ts'
import type { Caller, Interaction, Ports } from '../interaction.ts'
import { yieldIfDue } from '../time-slices.ts'
import { expressionErrorOf } from '../validation/fhirpath-fault.ts'
import type { FullValidator } from '../validation/full-validation.ts'
import { bodyOf } from '../writing/request-body.ts'
import { type ConformanceChecker, conformanceChecker } from './conformance-answers.ts'
import { itemOf, type ResultItem, resultOf } from './fhirpath-result.ts'
import { checkParameters, inputsOf, type OperationInput, requiredInput, toOutcomeIssues } from './operation-input.ts'

export type ApplyPorts = Pick<Ports, 'expressions'> & { readonly validated: FullValidator }

/**
 * Returns the interaction. It throws FhirError 400 for invalid Parameters, and 422 for an expression that is invalid, fails on the
 * resource, or costs too much. It throws the fault `overloaded` if the caller or the tenant already has the maximum of concurrent
 * expressions.
 */
export function applyFhirPath({ expressions, validated }: ApplyPorts): Interaction {
  const evaluate = async (expression: OperationInput<string>, resource: Resource, conforms: ConformanceChecker, by: Caller) => {
    const { value, place } = expression
    if (value.length > LONGEST) throw fhirError(422, 'too-costly', `An expression has at most ${LONGEST} characters`, place)
    // JSON.stringify instead of writeJson: the evaluator needs decimals in the form of the parsed tree, which holds their original text.
    const evaluation = { expression: value, type: resource.resourceType, resource: JSON.stringify(resource), isShown: true }
    const conformance: ConformanceAnswer[] = []
    for (let left = BUDGET; ; ) {
      const [outcome] = await expressions.evaluate([{ ...evaluation, conformance }], {
        each: left,
        all: left,
        overruns: 1,
        whose: by.tenant,
        caller: nameOf(by),
      })
      if (!('questions' in outcome!)) return valuesOf(outcome!, expression)
      left -= Math.ceil(outcome.ms)
      if (left <= 0) throw tooLong(place)
      for (const question of outcome.questions) conformance.push({ ...question, conforms: await conforms(question) })
    }
  }
  const evaluateForCaller = atMost(MOST_OF_CALLER, nameOf, evaluate)
  const evaluateInTurn = atMost(MOST_OF_TENANT, ({ tenant }: Caller) => tenant, evaluateForCaller)
  return async (request) => {
    const { tenant, reading, requestId } = request
    checkParameters(request.parameters, [])
    const body = bodyOf({ ...request, type: 'Parameters' })
    const inputs = await inputsOf(body, FORMS)
    const expression = requiredInput(inputs, 'fhirPath') as OperationInput<string>
    const resource = requiredInput(inputs, 'resource').value as Resource
    const conforms = conformanceChecker(resource, validated, { tenant, reading, requestId }, expression.place)
    const values = await evaluateInTurn(expression, resource, conforms, request)
    const { found, json } = await shownOf(values, resource, expression)
    const issues = await validated(resource, { tenant, profiles: [], reading })
    const parameter = [
      { name: 'outcome', valueString: json },
      ...found,
      { name: 'validation', resource: operationOutcomeOf(toOutcomeIssues(issues)) },
    ]
    return { status: 200, body: { resourceType: 'Parameters', parameter } }
  }
}

const FORMS = { fhirPath: ['valueString'], resource: ['resource'] } as const

/** Maximum characters of an expression. Longer ones are answered 422. */
const LONGEST = 10_000
/** Maximum milliseconds of processor time for the expression of a request, over all rounds. Beyond it the request is answered 422. */
const BUDGET = 300
/** Maximum concurrent expressions of one client and user. Further requests are answered 503. */
const MOST_OF_CALLER = 8
/**
 * Maximum concurrent expressions of a tenant. Further requests are answered 503. The queue of the expression runner is longer, so that
 * custom search parameters of the tenant can still be evaluated.
 */
const MOST_OF_TENANT = 32
/**
 * Maximum characters of a response. Beyond it the request is answered 422. The value of an item counts twice, because it also appears in
 * the `outcome` string. FHIR limits strings to 1 MB.
 */
const MOST_SHOWN = 2_000_000
/** Characters that count for each item in addition to its value and path. */
const AROUND = 150

const nameOf = ({ tenant, client, user }: Caller): string => JSON.stringify([tenant, client, user])

/** Returns the task, limited to `most` concurrent calls for each name. A further call throws the fault `overloaded`. */
function atMost<Args extends readonly [...unknown[], Caller], T>(
  most: number,
  nameOf: (by: Caller) => string,
  task: (...args: Args) => Promise<T>,
): (...args: Args) => Promise<T> {
  const underWay = new Map<string, number>()
  return async (...args) => {
    const name = nameOf(args.at(-1) as Caller)
    const before = underWay.get(name) ?? 0
    if (before >= most) throw new MachineFault('overloaded', 'too many expressions are waiting to be evaluated')
    underWay.set(name, before + 1)
    try {
      return await task(...args)
    } finally {
      const left = underWay.get(name)! - 1
      if (left > 0) underWay.set(name, left)
      else underWay.delete(name)
    }
  }
}

function valuesOf(outcome: EvaluationResult, { value, place }: OperationInput<string>): readonly FoundValue[] {
  if ('values' in outcome) return outcome.values
  if (outcome.failure === 'too-costly') throw tooLong(place)
  throw fhirError(422, 'invalid', wrongIn(value, outcome.reason), place)
}

const tooLong = (place: string): FhirError => tooCostly(`takes more than ${BUDGET} ms, or more memory than there is for it`, place)

const tooCostly = (what: string, place: string): FhirError => fhirError(422, 'too-costly', `The expression ${what}`, place)

function wrongIn(expression: string, reason: string): string {
  const fault = expressionErrorOf(expression, reason)
  return fault === undefined ? `The expression cannot be evaluated on this resource: ${reason}` : `The expression is no FHIRPath: ${fault}`
}

type Shown = { readonly found: readonly Element[]; readonly json: string }

/**
 * Returns the found items as result parameters. `json`: `true` or `false` if the only item is a boolean, otherwise an array of all items.
 * Throws FhirError 422 for numbers that JSON cannot express, and for results that are too large.
 */
async function shownOf(values: readonly FoundValue[], resource: Resource, { place }: OperationInput): Promise<Shown> {
  const items: ResultItem[] = []
  const texts: string[] = []
  let left = MOST_SHOWN
  for (const value of values) {
    const pause = yieldIfDue()
    if (pause !== undefined) await pause
    const item = itemOf(value, resource)
    if (isBeyondNumbers(item)) throw fhirError(422, 'invalid', 'The expression has a number that is too large', place)
    const text = writeJson(item.value ?? null)
    left -= 2 * text.length + (item.path?.length ?? 0) + AROUND
    if (left < 0) throw tooCostly('finds more than an answer can hold', place)
    items.push(item)
    texts.push(text)
  }
  const [first] = items
  const json = items.length === 1 && typeof first?.value === 'boolean' ? texts[0]! : `[${texts.join(',')}]`
  return { json, found: items.map((item, i) => resultOf(item, texts[i]!)) }
}

/** Whether JSON cannot express the item: a non-finite number, or a computed quantity with one. */
const isBeyondNumbers = ({ value, path }: ResultItem): boolean =>
  typeof value === 'number' ? !Number.isFinite(value) : path === undefined && isElement(value) && value.value === null
