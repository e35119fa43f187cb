/** The keys our tokens are verified with. https://www.rfc-editor.org/rfc/rfc7517#section-5 */
import type { Endpoint, VerifyingPorts } from '../endpoint.ts'
import { publishedAt } from '../tokens/key-rotation.ts'
import { json } from '../oauth-error.ts'

/** A key is published longer than this before it is used. */
export const CACHEABLE = { 'cache-control': 'public, max-age=300' }

export const jwks =
  ({ keys, clock }: VerifyingPorts): Endpoint =>
  async () =>
    json(200, { keys: publishedAt(await keys.list(), clock.now()).map(({ key }) => key) }, CACHEABLE)
