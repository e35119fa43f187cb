/** Gives tokens. */
import { token } from '../../auth/endpoints/token-endpoint.ts'
import { authorizingSteps } from '../../http/pipelines/authorizing.ts'
import { decidable } from '../../runtime/authorization/condition-support.ts'
import { authenticating, patientsOf, revocations, users } from '../../runtime/aws/authorization.ts'
import { httpHandler, unaskedParts } from '../../runtime/aws/http-handler.ts'
import { reading } from '../../runtime/aws/ports.ts'
import { signingKeys } from '../../runtime/aws/signing-keys.ts'

export const handler = httpHandler({
  endpoints: {
    token: token({
      ...authenticating(),
      users: users(),
      revocations: revocations(),
      keys: signingKeys(),
      patientsOf,
      isDecidable: decidable((tenant) => reading().now(tenant)),
    }),
  },
  steps: authorizingSteps(unaskedParts()),
  reading: reading(),
})
