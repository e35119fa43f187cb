/** Binds the steps of an interaction, in the order of order.ts, around what answers it. */
import middy from '@middy/core'
import type { FhirRequest, FhirResponse, Interaction } from '../interactions/interaction.ts'
import type { Code, Exchange, HttpResponse, Step } from './exchange.ts'
import { entryStepsOf, type StepName, stepsOf } from './order.ts'

export type Steps = Readonly<Partial<Record<StepName, Step>>>

/** Answers a whole request. TypeError when a step of the interaction is not among `steps`. */
export function pipeline(interaction: Code, steps: Steps, answer: Interaction): (exchange: Exchange) => Promise<HttpResponse> {
  const handler = chain(stepsOf(interaction), steps, answer)
  return (exchange) => handler(exchange, NO_CONTEXT) as Promise<HttpResponse>
}

/** Runs an entry of a Bundle through the steps meant for entries, up to `answer`. */
export function entryPipeline<T>(
  interaction: Code,
  steps: Steps,
  answer: (request: FhirRequest) => Promise<T>,
): (exchange: Exchange) => Promise<T> {
  const handler = chain(entryStepsOf(interaction), steps, answer as (request: FhirRequest) => Promise<never>)
  return (exchange) => handler(exchange, NO_CONTEXT) as Promise<T>
}

const NO_CONTEXT = {} as never

function chain(names: readonly StepName[], steps: Steps, answer: (request: FhirRequest) => Promise<FhirResponse>) {
  const handler = middy<Exchange, FhirResponse | HttpResponse>((exchange: Exchange) => answer(exchange.fhir))
  for (const name of names) {
    const step = steps[name]
    if (step === undefined) throw new TypeError(`the step ${name} is not bound`)
    handler.use(step)
  }
  return handler
}
