/**
 * Client authentication by HTTP Basic, by a secret in the body, or by a signed assertion. A public client sends only its id.
 * https://www.rfc-editor.org/rfc/rfc6749#section-2.3, https://www.rfc-editor.org/rfc/rfc7523#section-2.2
 */
import type { ClientAuth } from '../../access/claims.ts'
import type { Client } from '../../ports/rows/clients.ts'
import type { AuthRequest } from '../endpoint.ts'
import { networkOf } from '../login/client-network.ts'
import { throttleFailedAttempts } from '../login/guess-throttle.ts'
import { OAuthError } from '../oauth-error.ts'
import { isFingerprintOf } from '../random-secret.ts'
import { parametersOf, type RequestParameters } from '../request-parameters.ts'
import { findRefreshToken } from '../tokens/refresh-tokens.ts'
import { type AssertionPorts, checkAssertion, clientIdOf } from './client-assertion.ts'

export const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

/** `member`: member that the assertion of a partner names as its subject, as `Patient/1` or `system|value`. */
export type AuthenticatedClient = {
  readonly client: Client
  readonly by: ClientAuth
  readonly parameters: RequestParameters
  readonly member?: string
}

/** Unverified credentials of a request. */
type Credentials =
  | { readonly kind: 'secret'; readonly id: string; readonly secret: string }
  | { readonly kind: 'assertion'; readonly id: string; readonly assertion: string }
  | { readonly kind: 'none'; readonly id: string }

/**
 * Returns the authenticated client. Throws OAuthError `invalid_client` 401 for a wrong secret or assertion, and 400 for an unknown client
 * or one that must authenticate and did not. Throws 400 for more than one kind of credentials, and 429 after too many failures. The audit
 * record names only registered clients.
 */
export async function authenticateClient(ports: AssertionPorts, request: AuthRequest): Promise<AuthenticatedClient> {
  const parameters = formOf(request)
  const credentials = credentialsOf(request, await namedByToken(ports, request, parameters))
  const client = await ports.clients.get(credentials.id)
  if (client === undefined) throw new OAuthError('invalid_client', 'There is no such client')
  request.note({ client: client.id })
  if (credentials.kind === 'none') return { client, by: authenticatedByName(client), parameters }
  const attempt = { of: 'client', name: `${client.id} ${networkOf(request.address)}` } as const
  const member = await throttleFailedAttempts(ports, attempt, async () => {
    if (credentials.kind === 'assertion') return checkAssertion(ports, client, credentials.assertion, request)
    if (!isSecretOf(client, credentials.secret)) throw wrongSecret(request.baseUrl)
    return undefined
  })
  return { client, by: credentials.kind, parameters, ...(member === undefined ? {} : { member }) }
}

/**
 * Adds the client id from the refresh token if the request names no client. RFC 6749 lets a public client omit its id there, as fhirclient
 * does. https://www.rfc-editor.org/rfc/rfc6749#section-6
 */
async function namedByToken(ports: AssertionPorts, { headers }: AuthRequest, parameters: RequestParameters): Promise<RequestParameters> {
  const token = parameters.get('refresh_token')
  const isNamed = headers.authorization !== undefined || parameters.has('client_id') || parameters.has('client_assertion')
  if (isNamed || token === undefined || parameters.get('grant_type') !== 'refresh_token') return parameters
  const found = await findRefreshToken(ports, token)
  return found === undefined ? parameters : new Map([...parameters, ['client_id', found.grant.client]])
}

/**
 * Returns the error for a wrong secret. HTTP requires `www-authenticate` with a 401: https://www.rfc-editor.org/rfc/rfc9110#section-11.6.1
 */
const wrongSecret = (baseUrl: string): OAuthError =>
  new OAuthError('invalid_client', 'The secret of the client is wrong', 401, { 'www-authenticate': `Basic realm="${baseUrl}"` })

function formOf({ method, headers, form }: AuthRequest): RequestParameters {
  const type = (headers['content-type'] ?? '').split(';')[0]!.trim().toLowerCase()
  if (method !== 'POST' || type !== 'application/x-www-form-urlencoded')
    throw new OAuthError('invalid_request', 'Send the parameters as application/x-www-form-urlencoded')
  return parametersOf(form)
}

/** Returns the credentials of a request. Throws OAuthError 400 if it has several kinds of them, or no client id. */
function credentialsOf({ headers }: AuthRequest, parameters: RequestParameters): Credentials {
  const basic = basicOf(headers.authorization)
  const secret = parameters.get('client_secret')
  const assertion = parameters.get('client_assertion')
  if ([basic?.secret, secret, assertion].filter((given) => given !== undefined && given !== '').length > 1)
    throw new OAuthError('invalid_request', 'The client authenticates in more than one way')
  const named = parameters.get('client_id')
  if (basic !== undefined && named !== undefined && named !== basic.id)
    throw new OAuthError('invalid_request', 'client_id is another than that of the header Authorization')
  const id = basic?.id ?? named
  if (assertion !== undefined || parameters.has('client_assertion_type')) return assertedBy(parameters, id)
  if (id === undefined) throw new OAuthError('invalid_request', 'The parameter client_id is missing')
  const given = basic?.secret || secret
  return given === undefined ? { kind: 'none', id } : { kind: 'secret', id, secret: given }
}

function assertedBy(parameters: RequestParameters, named: string | undefined): Credentials {
  const assertion = parameters.get('client_assertion')
  if (assertion === undefined || parameters.get('client_assertion_type') !== ASSERTION_TYPE)
    throw new OAuthError('invalid_request', `An assertion has client_assertion, and client_assertion_type ${ASSERTION_TYPE}`)
  const id = clientIdOf(assertion)
  if (named !== undefined && named !== id) throw new OAuthError('invalid_client', 'client_id is another than that of the assertion', 401)
  return { kind: 'assertion', id, assertion }
}

/**
 * Returns client id and secret of HTTP Basic, or undefined without the header. OAuth form-encodes both before they are joined:
 * https://www.rfc-editor.org/rfc/rfc6749#section-2.3.1
 */
function basicOf(header: string | undefined): { readonly id: string; readonly secret: string } | undefined {
  if (header === undefined) return undefined
  const [, encoded] = /^Basic +([A-Za-z0-9+/=_-]+) *$/i.exec(header) ?? []
  const text = encoded === undefined ? '' : Buffer.from(encoded, 'base64').toString('utf8')
  const at = text.indexOf(':')
  if (at === -1) throw new OAuthError('invalid_request', 'The header Authorization is not of the scheme Basic')
  return { id: formDecoded(text.slice(0, at)), secret: formDecoded(text.slice(at + 1)) }
}

function formDecoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    throw new OAuthError('invalid_request', 'The header Authorization is not form-encoded')
  }
}

/** Returns `none` for a public client. Throws OAuthError 400 for every other client, because it must authenticate. */
function authenticatedByName({ authentication }: Client): ClientAuth {
  // guard: secret-required-unless-public
  if (authentication.kind !== 'public') throw new OAuthError('invalid_client', 'The client did not authenticate')
  return 'none'
}

function isSecretOf({ authentication }: Client, secret: string): boolean {
  return authentication.kind === 'secret' && authentication.hashes.some((hash) => isFingerprintOf(secret, hash))
}
