/** Token endpoint: issues access tokens and refresh tokens. */
import { token } from '../../auth/endpoints/token-endpoint.ts'
import { authorizingSteps } from '../../http/pipelines/authorizing.ts'
import { decidabilityCheck } from '../../runtime/authorization/condition-support.ts'
import { clientAuthenticationPorts, patientsOf, revocations, users } from '../../runtime/aws/authorization.ts'
import { httpHandler, publicStepParts } from '../../runtime/aws/http-handler.ts'
import { clock, searchContexts } from '../../runtime/aws/ports.ts'
import { signingKeys } from '../../runtime/aws/signing-keys.ts'
import { mayReadPatient, partnerMembers } from '../../runtime/aws/token-patients.ts'

export const handler = httpHandler<'token'>({
  endpoints: {
    token: token({
      ...clientAuthenticationPorts(),
      users: users(),
      revocations: revocations(),
      keys: signingKeys(),
      patientsOf,
      mayReadPatient,
      partnerMembers,
      isDecidable: decidabilityCheck((tenant) => searchContexts().of(tenant, clock().now())),
    }),
  },
  steps: authorizingSteps(publicStepParts()),
  reading: searchContexts(),
})
