/** An access token for a registered client that has a secret. Specification 5.2; https://www.rfc-editor.org/rfc/rfc6749#section-4.4 */
import { requestToken, TokenRequestError, tokenEndpointOf } from './token-endpoint.ts'

/** `base`: of the FHIR server, without a slash at the end. Error that says what the server said. */
export async function requestClientToken(base: string, client: string, secret: string): Promise<string> {
  const endpoint = await tokenEndpointOf(base)
  // A secret is for the server it was made by.
  if (new URL(endpoint).origin !== new URL(base).origin)
    throw new TokenRequestError(`${base}/.well-known/smart-configuration names no token endpoint of this server`)
  // What the client is not registered for is left out.
  return requestToken(endpoint, { client_id: client, client_secret: secret, scope: 'system/*.cruds system/admin' })
}
