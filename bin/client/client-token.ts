/**
 * Requests an access token for a registered client that has a secret. Specification 5.2; https://www.rfc-editor.org/rfc/rfc6749#section-4.4
 */
import { requestToken, TokenRequestError, tokenEndpointOf } from './token-endpoint.ts'

/** Requests an access token. `base`: FHIR base URL without a trailing slash. Throws with the server's reason if the server refuses. */
export async function requestClientToken(base: string, client: string, secret: string): Promise<string> {
  const endpoint = await tokenEndpointOf(base)
  // Never send a client secret to another server.
  if (new URL(endpoint).origin !== new URL(base).origin)
    throw new TokenRequestError(`${base}/.well-known/smart-configuration names no token endpoint of this server`)
  // The server drops the scopes that the client is not registered for.
  return requestToken(endpoint, { client_id: client, client_secret: secret, scope: 'system/*.cruds system/admin' })
}
