/** A deployed function that answers requests of API Gateway. */
import { gatewayAuthenticator } from '../../http/authenticators.ts'
import type { Site } from '../../http/exchange.ts'
import { type GatewayEvent, type GatewayResult, requestIdOf, requestOf, resultOf } from '../../http/gateway-event.ts'
import type { Steps } from '../../http/pipeline.ts'
import type { StepParts } from '../../http/pipelines/reading.ts'
import { type ServerParts, server } from '../../http/server.ts'
import { authenticator, authenticatorWithoutPersons } from './authenticator.ts'
import { type LambdaContext, runWithLambdaDeadline, withDeadline } from './deadlines.ts'
import { report } from './log.ts'
import { audit, clock, config, deploymentSettings, searchContexts as known } from './ports.ts'

export type HttpFunctionParts = {
  readonly interactions?: ServerParts['interactions']
  readonly endpoints?: ServerParts['endpoints']
  readonly steps: Steps
  /** Absent: what somebody defined matters only where a scope may name it. */
  readonly reading?: { readonly refresh: (at: number) => Promise<void> }
  readonly seal?: { readonly ready: () => Promise<void> }
}

/** Of a function that anybody may ask: should it ever want to know who does, it is nobody. */
export const publicStepParts = (): StepParts => ({
  audit: audit(),
  clock: clock(),
  authenticator: gatewayAuthenticator,
  origins: config().allowedOrigins.includes('*') ? '*' : config().allowedOrigins,
  loopbackOnly: false,
  report,
})

export const stepParts = (): StepParts => ({ ...publicStepParts(), authenticator: authenticator() })

export const stepPartsWithoutPersons = (): StepParts => ({ ...publicStepParts(), authenticator: authenticatorWithoutPersons() })

/** An answer that takes longer than a request may is a 504, recorded as such. What the answer needs is fetched while the function starts. Audit records are written before the answer goes out, for then it may sleep. */
export function httpHandler(parts: HttpFunctionParts): (event: GatewayEvent, context?: LambdaContext) => Promise<GatewayResult> {
  const { interactions = {}, endpoints = {}, steps, reading, seal } = parts
  const site: Site = { baseUrl: deploymentSettings().baseUrl, reading: (tenant) => known().now(tenant) }
  const serve = server({ interactions: allInTime(interactions), endpoints: allInTime(endpoints), steps, site })
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
