/** Public keys that verify the tokens of this server. https://www.rfc-editor.org/rfc/rfc7517#section-5 */
import { CACHEABLE_HEADERS, type Endpoint, type VerifyingPorts } from '../endpoint.ts'
import { jsonResponse } from '../oauth-error.ts'
import { publishedKeysAt } from '../tokens/key-rotation.ts'

export const jwks =
  ({ keys, clock }: VerifyingPorts): Endpoint =>
  async () =>
    jsonResponse(200, { keys: publishedKeysAt(await keys.list(), clock.now()).map(({ key }) => key) }, CACHEABLE_HEADERS)
