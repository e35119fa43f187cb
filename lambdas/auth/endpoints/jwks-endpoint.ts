/** The keys our tokens are verified with. https://www.rfc-editor.org/rfc/rfc7517#section-5 */
import { CACHEABLE, type Endpoint, type VerifyingPorts } from '../endpoint.ts'
import { json } from '../oauth-error.ts'
import { publishedAt } from '../tokens/key-rotation.ts'

export const jwks =
  ({ keys, clock }: VerifyingPorts): Endpoint =>
  async () =>
    json(200, { keys: publishedAt(await keys.list(), clock.now()).map(({ key }) => key) }, CACHEABLE)
