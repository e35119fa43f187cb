/**
 * Discovery documents, where clients find the endpoints and features.
 * https://hl7.org/fhir/smart-app-launch/conformance.html#using-well-known,
 * https://openid.net/specs/openid-connect-discovery-1_0.html#ProviderMetadata, https://www.rfc-editor.org/rfc/rfc8414#section-2
 */
import { operationScopesOf } from '../../access/operation-scopes.ts'
import { ASSERTION_ALGORITHMS } from '../clients/client-assertion.ts'
import { type AuthChoices, CACHEABLE_HEADERS, type Endpoint } from '../endpoint.ts'
import { jsonResponse } from '../oauth-error.ts'
import { GRANT_TYPES } from './token-endpoint.ts'

export const smartConfiguration =
  (choices: AuthChoices): Endpoint =>
  async ({ baseUrl }) =>
    jsonResponse(
      200,
      { ...common(baseUrl, choices), management_endpoint: `${baseUrl}/auth/account`, capabilities: CAPABILITIES },
      CACHEABLE_HEADERS,
    )

export const openidConfiguration =
  (choices: AuthChoices): Endpoint =>
  async ({ baseUrl }) =>
    jsonResponse(200, { ...common(baseUrl, choices), ...OPENID }, CACHEABLE_HEADERS)

/** `registration_endpoint`: present even without invitations, because a check would read the clients at each request. */
const common = (baseUrl: string, { pkce }: AuthChoices) => {
  const clients = methodsOf(['private_key_jwt', 'client_secret_basic', 'client_secret_post'])
  return {
    issuer: baseUrl,
    jwks_uri: `${baseUrl}/auth/jwks`,
    authorization_endpoint: `${baseUrl}/auth/authorize`,
    authorization_response_iss_parameter_supported: true,
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    token_endpoint: `${baseUrl}/auth/token`,
    introspection_endpoint: `${baseUrl}/auth/introspect`,
    revocation_endpoint: `${baseUrl}/auth/revoke`,
    registration_endpoint: `${baseUrl}/auth/register`,
    ...clients('token', true),
    ...clients('introspection', false),
    ...clients('revocation', true),
    grant_types_supported: GRANT_TYPES,
    scopes_supported: SCOPES,
    ...(pkce === 'off' ? {} : { code_challenge_methods_supported: ['S256'] }),
  }
}

const methodsOf = (methods: readonly string[]) => (endpoint: string, publicToo: boolean) => ({
  [`${endpoint}_endpoint_auth_methods_supported`]: publicToo ? [...methods, 'none'] : methods,
  [`${endpoint}_endpoint_auth_signing_alg_values_supported`]: ASSERTION_ALGORITHMS,
})

/**
 * Scopes that discovery lists: scopes for all types, and scopes of matches. The server also supports scopes for one type and with
 * conditions.
 */
const SCOPES = [
  ...['openid', 'fhirUser', 'profile', 'launch', 'launch/patient', 'offline_access', 'online_access'],
  ...['patient', 'user', 'system'].flatMap((context) => ['cruds', 'rs', 'read', 'write', '*'].map((access) => `${context}/*.${access}`)),
  ...operationScopesOf(),
]

/** SMART features of the server: https://hl7.org/fhir/smart-app-launch/conformance.html#capabilities */
const CAPABILITIES = [
  ...['launch-ehr', 'launch-standalone', 'authorize-post'],
  ...['client-public', 'client-confidential-symmetric', 'client-confidential-asymmetric'],
  ...[
    'sso-openid-connect',
    'context-banner',
    'context-style',
    'context-ehr-patient',
    'context-ehr-encounter',
    'context-standalone-patient',
  ],
  ...['permission-offline', 'permission-online', 'permission-patient', 'permission-user', 'permission-v1', 'permission-v2'],
]

const OPENID = {
  subject_types_supported: ['public'],
  id_token_signing_alg_values_supported: ['RS256'],
  prompt_values_supported: ['none', 'login', 'consent', 'select_account'],
  claims_supported: [
    'iss',
    'sub',
    'aud',
    'exp',
    'iat',
    'auth_time',
    'acr',
    'at_hash',
    'nonce',
    'azp',
    'sid',
    'preferred_username',
    'fhirUser',
  ],
  request_parameter_supported: false,
  request_uri_parameter_supported: false,
}
