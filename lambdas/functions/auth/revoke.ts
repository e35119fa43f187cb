/** Token revocation endpoint, and registrations of apps. The removal of an app revokes its tokens. */
import { register } from '../../auth/endpoints/registration-endpoint.ts'
import { revoke } from '../../auth/endpoints/revocation-endpoint.ts'
import { authorizingSteps } from '../../http/pipelines/authorizing.ts'
import { clientAuthenticationPorts, clients, mayFetchKeys, publicKeys, revocations } from '../../runtime/aws/authorization.ts'
import { httpHandler, publicStepParts } from '../../runtime/aws/http-handler.ts'
import { clock } from '../../runtime/aws/ports.ts'

export const handler = httpHandler<'revoke'>({
  endpoints: {
    revoke: revoke({ ...clientAuthenticationPorts(), revocations: revocations(), keys: publicKeys() }),
    register: register({ registrations: clients(), revocations: revocations(), clock: clock(), mayFetchKeys }),
  },
  steps: authorizingSteps(publicStepParts()),
})
