/** Handler of a deployed function that answers requests from API Gateway. */
import type { Endpoint } from '../../auth/endpoint.ts'
import type { EndpointsOf, HttpFunction, InteractionsOf } from '../../catalogue/catalogue.ts'
import { gatewayAuthenticator } from '../../http/authenticators.ts'
import type { Site } from '../../http/exchange.ts'
import { type GatewayEvent, type GatewayResult, requestIdOf, requestOf, resultOf } from '../../http/gateway-event.ts'
import type { Steps } from '../../http/pipeline.ts'
import type { StepParts } from '../../http/pipelines/reading.ts'
import { type ServerParts, server } from '../../http/server.ts'
import type { Interaction } from '../../interactions/interaction.ts'
import { authenticator, authenticatorWithoutPersons, publicRead } from './authenticator.ts'
import { type LambdaContext, runWithLambdaDeadline, withDeadline } from './deadlines.ts'
import { logRequest, report } from './log.ts'
import { audit, clock, config, deploymentSettings, searchContexts as known } from './ports.ts'

/** Requires a field with a handler for each of the codes. Requires no field if there are no codes. */
type Bindings<Field extends string, Code extends string, Handler> = [Code] extends [never]
  ? unknown
  : Readonly<Record<Field, Readonly<Record<Code, Handler>>>>

/**
 * Parts of a deployed function. They contain a handler for each interaction and endpoint that the catalogue gives the function. A missing
 * one does not compile.
 */
export type HttpFunctionParts<Name extends HttpFunction> = FunctionParts &
  Bindings<'interactions', InteractionsOf<Name>, Interaction> &
  Bindings<'endpoints', EndpointsOf<Name>, Endpoint>

type FunctionParts = {
  readonly steps: Steps
  /**
   * Search contexts that are refreshed before each request. Absent: the function uses custom parameters only in scope conditions, for which
   * authentication refreshes the contexts.
   */
  readonly reading?: { readonly refresh: (at: number) => Promise<void> }
  readonly seal?: { readonly ready: () => Promise<void> }
}

/**
 * Returns the step parts of functions that are open to every caller. If a step authenticated by mistake, it would accept only requests
 * signed with AWS credentials.
 */
export const publicStepParts = (): StepParts => ({
  audit: audit(),
  clock: clock(),
  authenticator: gatewayAuthenticator,
  origins: config().allowedOrigins.includes('*') ? '*' : config().allowedOrigins,
  loopbackOnly: false,
  hasExplorer: config().access === 'token',
  report,
})

export const stepParts = (): StepParts => ({ ...publicStepParts(), authenticator: authenticator(), publicRead: publicRead() })

export const stepPartsWithoutPersons = (): StepParts => ({ ...publicStepParts(), authenticator: authenticatorWithoutPersons() })

/**
 * Returns the handler of API Gateway events. A request beyond its deadline is answered and recorded as 504. The handler loads what
 * responses need while the function starts. It writes audit records before it returns, because Lambda may freeze the process afterwards.
 */
export function httpHandler<Name extends HttpFunction>(
  parts: HttpFunctionParts<Name>,
): (event: GatewayEvent, context?: LambdaContext) => Promise<GatewayResult> {
  const {
    interactions = {},
    endpoints = {},
    steps,
    reading,
    seal,
  }: FunctionParts & Partial<Pick<ServerParts, 'interactions' | 'endpoints'>> = parts
  const { sharedTenant } = config()
  const site: Site = { baseUrl: deploymentSettings().baseUrl, reading: (tenant) => known().now(tenant), sharedTenant }
  const requestLog = config().requestLog ? logRequest : undefined
  const serve = server({ interactions: allInTime(interactions), endpoints: allInTime(endpoints), steps, site, requestLog })
  const ready = (): Promise<unknown> => Promise.all([seal?.ready(), reading?.refresh(clock().now())])
  ready().catch(() => undefined)
  const answer = async (event: GatewayEvent): Promise<GatewayResult> => {
    const request = requestOf(event, config().access === 'token')
    const requestId = requestIdOf(event, () => clock().newId())
    const response = await ready().then(
      () => serve(request, requestId),
      (error: Error) => serve({ ...request, refused: error }, requestId),
    )
    await audit().flush()
    return resultOf(event, response)
  }
  return (event, context) => runWithLambdaDeadline(context, () => answer(event))
}

const allInTime = <Answers extends object>(answers: Answers): Answers =>
  Object.fromEntries(Object.entries(answers).map(([code, answer]) => [code, withDeadline(answer)])) as Answers
