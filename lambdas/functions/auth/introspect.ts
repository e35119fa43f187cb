/** Token introspection endpoint: returns whether a token is valid, and its content. */
import { introspect } from '../../auth/endpoints/introspection-endpoint.ts'
import { authorizingSteps } from '../../http/pipelines/authorizing.ts'
import { clientAuthenticationPorts, publicKeys, tokenRevocations } from '../../runtime/aws/authorization.ts'
import { httpHandler, publicStepParts } from '../../runtime/aws/http-handler.ts'

export const handler = httpHandler<'introspect'>({
  endpoints: { introspect: introspect({ ...clientAuthenticationPorts(), revocations: tokenRevocations(), keys: publicKeys() }) },
  steps: authorizingSteps(publicStepParts()),
})
