/** Ends tokens. */
import { revoke } from '../../auth/endpoints/revocation-endpoint.ts'
import { authorizingSteps } from '../../http/pipelines/authorizing.ts'
import { authenticating, publicKeys, revocations } from '../../runtime/aws/authorization.ts'
import { httpHandler, unaskedParts } from '../../runtime/aws/http-handler.ts'

export const handler = httpHandler({
  endpoints: { revoke: revoke({ ...authenticating(), revocations: revocations(), keys: publicKeys() }) },
  steps: authorizingSteps(unaskedParts()),
})
