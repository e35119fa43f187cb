/**
 * Metadata of clients in the names of RFC 7591: read from the registration of an app, and written for its response.
 * https://www.rfc-editor.org/rfc/rfc7591#section-2
 */
import { narrowScopes, splitScopes } from '../../access/scopes.ts'
import { parseJsonBytes, writeJson } from '../../fhir/json.ts'
import { FhirError } from '../../fhir/outcome.ts'
import { type Element, isElement } from '../../fhir/resource.ts'
import type { Client, ClientAuthentication } from '../../ports/rows/clients.ts'
import { OAuthError } from '../oauth-error.ts'
import { findRedirectUriProblem } from '../redirect-uri.ts'
import { clientKeysOf } from './client-keys.ts'

/**
 * Metadata that an app requests. `authentication`: with `secret`, the server creates the secret. `name`, `scopes`: absent: the server
 * chooses them.
 */
export type RequestedMetadata = {
  readonly redirectUris: readonly string[]
  readonly authentication: Exclude<ClientAuthentication, { readonly kind: 'secret' }> | 'secret'
  readonly name?: string
  readonly scopes?: readonly string[]
}

/**
 * Reads the metadata from a request. Ignores properties that the server does not support, as RFC 7591 section 2 requires. Throws OAuthError
 * `invalid_redirect_uri` for redirect URIs that clients may not have, and `invalid_client_metadata` for all other errors.
 */
export function parseClientMetadata(headers: Readonly<Record<string, string>>, body: Uint8Array): RequestedMetadata {
  const metadata = objectOf(headers, body)
  const name = textIn(metadata, 'client_name')
  const scope = textIn(metadata, 'scope')
  checkGrants(metadata)
  return {
    redirectUris: redirectUrisOf(metadata),
    authentication: authenticationOf(metadata),
    ...(name === undefined ? {} : { name }),
    ...(scope === undefined ? {} : { scopes: splitScopes(scope) }),
  }
}

/** Returns the requested scopes that the invitation covers; without a request, its scopes. Throws OAuthError if it covers none. */
export function narrowToInvitation({ scopes: requested }: RequestedMetadata, invited: readonly string[]): readonly string[] {
  // guard: registered-scopes-within-invitation
  const scopes = requested === undefined ? invited : narrowScopes(requested, invited)
  if (scopes.length === 0) throw invalidMetadata(`scope must contain at least one scope of the invitation: ${invited.join(' ')}`)
  return scopes
}

/** Returns the public metadata of a client. They contain no secret. */
export const clientMetadataOf = ({ id, name, authentication, scopes, redirectUris }: Client) => ({
  client_id: id,
  client_name: name,
  token_endpoint_auth_method: METHODS[authentication.kind],
  scope: scopes.join(' '),
  redirect_uris: redirectUris,
  ...(authentication.kind === 'uri' ? { jwks_uri: authentication.uri } : {}),
  ...(authentication.kind === 'keys' ? { jwks: { keys: authentication.keys } } : {}),
})

const METHODS: Readonly<Record<ClientAuthentication['kind'], string>> = {
  secret: 'client_secret_basic',
  keys: 'private_key_jwt',
  uri: 'private_key_jwt',
  public: 'none',
}

export const invalidMetadata = (reason: string): OAuthError => new OAuthError('invalid_client_metadata', reason)
const invalidRedirect = (reason: string): OAuthError => new OAuthError('invalid_redirect_uri', reason)

function objectOf(headers: Readonly<Record<string, string>>, body: Uint8Array): Element {
  const type = (headers['content-type'] ?? '').split(';')[0]!.trim().toLowerCase()
  if (type !== 'application/json') throw invalidMetadata('Send the metadata as application/json')
  const tree = parsed(body)
  if (!isElement(tree)) throw invalidMetadata('The metadata must be one JSON object')
  return tree
}

function parsed(body: Uint8Array): unknown {
  try {
    return parseJsonBytes(body)
  } catch (error) {
    throw error instanceof FhirError ? invalidMetadata(error.message) : error
  }
}

function textIn(metadata: Element, name: string): string | undefined {
  const { [name]: value } = metadata
  if (value !== undefined && typeof value !== 'string') throw invalidMetadata(`${name} must be a string`)
  return value
}

/** Returns a list of strings, or `missing` if the property is absent. */
function listIn(metadata: Element, name: string, missing: readonly string[]): readonly string[] {
  const { [name]: value = missing } = metadata
  if (!Array.isArray(value) || !value.every((each) => typeof each === 'string'))
    throw invalidMetadata(`${name} must be an array of strings`)
  return value
}

/** Checks that the app uses authorization codes. The server ignores other grant types and response types in the lists. */
function checkGrants(metadata: Element): void {
  if (!listIn(metadata, 'grant_types', ['authorization_code']).includes('authorization_code'))
    throw invalidMetadata('grant_types must include authorization_code')
  if (!listIn(metadata, 'response_types', ['code']).includes('code')) throw invalidMetadata('response_types must include code')
}

function redirectUrisOf({ redirect_uris: uris }: Element): readonly string[] {
  if (!Array.isArray(uris) || uris.length === 0) throw invalidRedirect('redirect_uris must be an array of at least one URI')
  for (const [i, uri] of uris.entries()) {
    const problem = typeof uri === 'string' ? findRedirectUriProblem(uri) : 'is not a string'
    if (problem !== undefined) throw invalidRedirect(`redirect_uris[${i}] ${problem}`)
  }
  return uris
}

/** Methods with a secret. A client may use either of them. The server registers `client_secret_basic`. */
const SECRET_METHODS = ['client_secret_basic', 'client_secret_post']

function authenticationOf(metadata: Element): RequestedMetadata['authentication'] {
  const { jwks } = metadata
  const uri = textIn(metadata, 'jwks_uri')
  const method = textIn(metadata, 'token_endpoint_auth_method') ?? 'client_secret_basic'
  if (jwks !== undefined && uri !== undefined) throw invalidMetadata('Send only one of jwks and jwks_uri')
  if (SECRET_METHODS.includes(method)) return 'secret'
  if (method === 'none') return { kind: 'public' }
  if (method !== 'private_key_jwt')
    throw invalidMetadata(`token_endpoint_auth_method must be one of none, private_key_jwt, ${SECRET_METHODS.join(', ')}`)
  if (uri !== undefined) return { kind: 'uri', uri }
  if (jwks === undefined) throw invalidMetadata('private_key_jwt needs jwks or jwks_uri')
  try {
    return { kind: 'keys', keys: clientKeysOf(writeJson(jwks)) }
  } catch (error) {
    throw error instanceof RangeError ? invalidMetadata(`jwks: ${error.message}`) : error
  }
}
