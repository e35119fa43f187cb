/** Gives tokens. */
import { token } from '../auth/token.ts'
import { authorizingSteps } from '../http/pipelines/authorizing.ts'
import { reading } from '../runtime/aws.ts'
import { authenticating, revocations, users } from '../runtime/aws-authorization.ts'
import { httpHandler, unaskedParts } from '../runtime/aws-handler.ts'
import { signingKeys } from '../runtime/aws-signing.ts'
import { decidable } from '../runtime/decidable.ts'

export const handler = httpHandler({
  endpoints: {
    token: token({
      ...authenticating(),
      users: users(),
      revocations: revocations(),
      keys: signingKeys(),
      isDecidable: decidable((tenant) => reading().now(tenant)),
    }),
  },
  steps: authorizingSteps(unaskedParts()),
  reading: reading(),
})
