/**
 * Registration of apps by invitation: https://www.rfc-editor.org/rfc/rfc7591#section-3. A registered app reads and removes its own
 * registration: https://www.rfc-editor.org/rfc/rfc7592#section-2.
 */
import { invalidTokenError } from '../../access/verification/token-errors.ts'
import type { FhirError } from '../../fhir/outcome.ts'
import type { Client } from '../../ports/rows/clients.ts'
import {
  clientMetadataOf,
  invalidMetadata,
  narrowToInvitation,
  parseClientMetadata,
  type RequestedMetadata,
} from '../clients/client-metadata.ts'
import { type ClientToken, clientTokenOf, createClientToken, isExpired, isInvitation, isTokenOf } from '../clients/invitations.ts'
import { toClient } from '../clients/registration.ts'
import type { AuthPorts, AuthRequest, AuthResponse, Endpoint } from '../endpoint.ts'
import { jsonResponse, NO_STORE_HEADERS } from '../oauth-error.ts'
import { createRandomSecret, fingerprintOf } from '../random-secret.ts'
import { parametersOf } from '../request-parameters.ts'
import { changeGeneration } from '../tokens/credential-generations.ts'

export type RegisterPorts = Pick<AuthPorts, 'registrations' | 'revocations' | 'clock' | 'mayFetchKeys'>

/** Registers an app (POST), and returns (GET) or removes (DELETE) its registration. */
export const register =
  (ports: RegisterPorts): Endpoint =>
  (request) => {
    if (request.method === 'POST') return registerApp(ports, request)
    return request.method === 'DELETE' ? removeApp(ports, request) : readApp(ports, request)
  }

/**
 * Registers the app with the initial access token of the request. Throws FhirError 401, with the same text, for an unknown, an expired and
 * a used token. Throws OAuthError 400 for invalid metadata; the app can use the invitation again.
 */
async function registerApp(ports: RegisterPorts, request: AuthRequest): Promise<AuthResponse> {
  const { registrations, clock } = ports
  const initial = clientTokenOf(request.headers)
  const { token, hash } = createClientToken(initial.id)
  const secret = createRandomSecret()
  const appOf = (invitation: Client): Client => {
    const now = clock.now()
    // guard: registration-needs-an-open-invitation
    if (!isInvitation(invitation) || isExpired(invitation, now)) throw invalidToken()
    request.note({ client: invitation.id })
    const metadata = parseClientMetadata(request.headers, request.body)
    return { ...toApp(invitation, metadata, fingerprintOf(secret), now), invited: { hash }, generation: clock.newId() }
  }
  // Check the invitation first, so that only an invited app makes the server look up a host.
  await checkKeyHost(ports, appOf(clientOfToken(initial, await registrations.get(initial.id))))
  const client = (await registrations.change(initial.id, (known) => appOf(clientOfToken(initial, known))))!
  request.note({ outcome: 'registered' })
  // RFC 7591 requires the expiry with each secret; 0 means that the secret does not expire.
  const secrets = client.authentication.kind === 'secret' ? { client_secret: secret, client_secret_expires_at: 0 } : {}
  return jsonResponse(201, { ...describeApp(client, token, request), ...secrets })
}

/** Returns the client of the token. Throws FhirError 401 if the token belongs to no client. */
function clientOfToken(token: ClientToken, known: Client | undefined): Client {
  if (known === undefined || !isTokenOf(token, known)) throw invalidToken()
  return known
}

/** Throws OAuthError if the server may not fetch the keys of the app. Otherwise the app would fail only at its first authentication. */
async function checkKeyHost({ mayFetchKeys }: RegisterPorts, { authentication }: Client): Promise<void> {
  // guard: registered-keys-have-public-host
  if (authentication.kind === 'uri' && !(await mayFetchKeys(authentication.uri)))
    throw invalidMetadata('jwks_uri must have a host with public addresses. The server fetches keys from no other')
}

/** Returns the client of an app. The name and the scopes of its invitation bind the app. `hash`: fingerprint of its new secret. */
function toApp(invitation: Client, metadata: RequestedMetadata, hash: string, now: number): Client {
  const { id, name, tenants, mayIntrospect } = invitation
  const { redirectUris, authentication } = metadata
  const scopes = narrowToInvitation(metadata, invitation.scopes)
  try {
    return toClient(
      {
        ...{ id, tenants, mayIntrospect, redirectUris, scopes },
        // An invitation without a name for the app has its id as name.
        name: name === id ? (metadata.name ?? id) : name,
        authentication: authentication === 'secret' ? { kind: 'secret', hashes: [hash] } : authentication,
      },
      now,
    )
  } catch (error) {
    throw error instanceof RangeError ? invalidMetadata(error.message) : error
  }
}

async function readApp(ports: RegisterPorts, request: AuthRequest): Promise<AuthResponse> {
  const token = managementTokenOf(request)
  const client = await ports.registrations.get(token.id)
  if (client === undefined || !isRegisteredBy(token, client)) throw invalidToken()
  request.note({ client: client.id, outcome: 'read' })
  return jsonResponse(200, describeApp(client, `${token.id}.${token.secret}`, request))
}

/** Removes the app and revokes its tokens. An interrupted request can be repeated. */
async function removeApp(ports: RegisterPorts, request: AuthRequest): Promise<AuthResponse> {
  const token = managementTokenOf(request)
  let isThere = false
  await changeGeneration(ports, ports.registrations, token.id, (client) => {
    if (!isRegisteredBy(token, client)) throw invalidToken()
    isThere = true
    return undefined
  })
  if (!isThere) throw invalidToken()
  request.note({ client: token.id, outcome: 'removed' })
  return { status: 204, headers: NO_STORE_HEADERS }
}

/** Returns the token of the request. Throws FhirError 401 if it is malformed, or if the URL names another client. */
function managementTokenOf({ headers, query }: AuthRequest): ClientToken {
  const token = clientTokenOf(headers)
  if (token.id === '' || parametersOf(query).get('client_id') !== token.id) throw invalidToken()
  return token
}

// guard: registration-token-of-own-client
const isRegisteredBy = (token: ClientToken, client: Client): boolean => !isInvitation(client) && isTokenOf(token, client)

/** Returns the metadata of a registered app, with the token and the URL that read and remove its registration. */
function describeApp(client: Client, token: string, { baseUrl }: AuthRequest) {
  const refreshing = client.scopes.includes('offline_access') ? ['refresh_token'] : []
  return {
    ...clientMetadataOf(client),
    grant_types: ['authorization_code', ...refreshing],
    response_types: ['code'],
    client_id_issued_at: Math.floor((client.registeredAt ?? client.changedAt) / 1000),
    registration_access_token: token,
    registration_client_uri: `${baseUrl}/auth/register?client_id=${encodeURIComponent(client.id)}`,
  }
}

const invalidToken = (): FhirError =>
  invalidTokenError('The token is unknown, expired or already used. Ask the operator of this server for a new invitation')
