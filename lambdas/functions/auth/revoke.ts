/** Token revocation endpoint. */
import { revoke } from '../../auth/endpoints/revocation-endpoint.ts'
import { authorizingSteps } from '../../http/pipelines/authorizing.ts'
import { clientAuthenticationPorts, publicKeys, revocations } from '../../runtime/aws/authorization.ts'
import { httpHandler, publicStepParts } from '../../runtime/aws/http-handler.ts'

export const handler = httpHandler<'revoke'>({
  endpoints: { revoke: revoke({ ...clientAuthenticationPorts(), revocations: revocations(), keys: publicKeys() }) },
  steps: authorizingSteps(publicStepParts()),
})
