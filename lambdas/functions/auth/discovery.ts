/** Discovery endpoints: the capabilities of the authorization server, and the public keys that verify its tokens. */
import { openidConfiguration, smartConfiguration } from '../../auth/endpoints/discovery.ts'
import { jwks } from '../../auth/endpoints/jwks-endpoint.ts'
import { authorizingSteps } from '../../http/pipelines/authorizing.ts'
import { publicKeys } from '../../runtime/aws/authorization.ts'
import { httpHandler, publicStepParts } from '../../runtime/aws/http-handler.ts'
import { clock, config } from '../../runtime/aws/ports.ts'

export const handler = httpHandler<'discovery'>({
  endpoints: {
    'smart-configuration': smartConfiguration(config()),
    'openid-configuration': openidConfiguration(config()),
    jwks: jwks({ keys: publicKeys(), clock: clock() }),
  },
  steps: authorizingSteps(publicStepParts()),
})
