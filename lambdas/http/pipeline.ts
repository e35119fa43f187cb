/** Binds the steps of an interaction, in the order of order.ts, around the function that answers it. */
import middy from '@middy/core'
import type { Endpoint } from '../auth/endpoint.ts'
import type { EndpointCode, InteractionCode } from '../catalogue/catalogue.ts'
import type { FhirRequest, FhirResponse, Interaction } from '../interactions/interaction.ts'
import { authRequestOf, toFhirResponse } from './auth-exchange.ts'
import { type Exchange, type HttpResponse, requestOf, type Step } from './exchange.ts'
import { entryStepsOf, type StepName, stepsOf } from './order.ts'

export type Steps = Readonly<Partial<Record<StepName, Step>>>

/** Returns the handler of requests to an interaction. Throws TypeError if `steps` lacks a step that order.ts requires. */
export const pipeline = (
  interaction: InteractionCode,
  steps: Steps,
  answer: Interaction,
): ((exchange: Exchange) => Promise<HttpResponse>) =>
  chain(stepsOf(interaction), steps, (exchange) => answer(requestOf(exchange, interaction)))

/** Returns the handler of requests to an endpoint of the authorization server. */
export const endpointPipeline = (code: EndpointCode, steps: Steps, endpoint: Endpoint): ((exchange: Exchange) => Promise<HttpResponse>) =>
  chain(stepsOf(code), steps, async (exchange) => toFhirResponse(await endpoint(authRequestOf(exchange))))

/** Returns the handler of requests that reach no interaction, such as preflight requests and unknown paths. */
export const fallbackPipeline = (
  steps: Steps,
  answer: (exchange: Exchange) => Promise<FhirResponse>,
): ((exchange: Exchange) => Promise<HttpResponse>) => chain(stepsOf('fallback'), steps, answer)

/** Returns the handler of a Bundle entry, which runs the steps meant for entries and then `answer`. */
export const entryPipeline = <T>(
  interaction: InteractionCode,
  steps: Steps,
  answer: (request: FhirRequest) => Promise<T>,
): ((exchange: Exchange) => Promise<T>) => chain(entryStepsOf(interaction), steps, (exchange) => answer(requestOf(exchange, interaction)))

const NO_CONTEXT = {} as never

/** Binds the steps around `answer`. `Answer`: type of the result of all steps. Throws TypeError if a step is missing. */
function chain<Answer>(names: readonly StepName[], steps: Steps, answer: (exchange: Exchange) => Promise<unknown>) {
  const handler = middy<Exchange, FhirResponse | HttpResponse>((exchange: Exchange) => answer(exchange) as Promise<FhirResponse>)
  for (const name of names) {
    const step = steps[name]
    if (step === undefined) throw new TypeError(`the step ${name} is not bound`)
    handler.use(step)
  }
  return (exchange: Exchange) => handler(exchange, NO_CONTEXT) as Promise<Answer>
}
