/**
 * All routes of the server, as data. Both deployments and the CapabilityStatement use this table, so that they agree. The file imports
 * nothing.
 * https://hl7.org/fhir/R4/http.html
 *
 * Variables in a path: `{type}` is a resource type, `{id}` the logical id of a resource or the id of an export, `{versionId}` a version,
 * `{file}` a file of an export, `{owner}/{ownerId}` a compartment. A static segment takes precedence over a variable.
 */

export type InteractionCode =
  | 'read'
  | 'vread'
  | 'update'
  | 'patch'
  | 'delete'
  | 'create'
  | 'history-instance'
  | 'history-type'
  | 'history-system'
  | 'search-type'
  | 'search-system'
  | 'bundle'
  | 'capabilities'
  | 'reindex'
  | 'reindex-status'
  | 'meta'
  | 'validate'
  | 'apply-fhirpath'
  | 'everything'
  | 'docref'
  | 'export'
  | 'export-status'
  | 'export-cancel'
  | 'export-file'

export type Route = { readonly method: string; readonly path: string; readonly interaction: InteractionCode }

/** Endpoint of the authorization server. */
export type EndpointCode =
  | 'token'
  | 'introspect'
  | 'revoke'
  | 'jwks'
  | 'style'
  | 'smart-configuration'
  | 'openid-configuration'
  | 'authorize'
  | 'login'
  | 'consent'
  | 'account'
  | 'logout'

export type EndpointRoute = { readonly method: string; readonly path: string; readonly interaction: EndpointCode }

const route = (method: string, path: string, interaction: InteractionCode): Route => ({ method, path, interaction })

export const ROUTES: readonly Route[] = [
  route('GET', '/metadata', 'capabilities'),
  route('GET', '/$reindex-status', 'reindex-status'),
  route('POST', '/$reindex', 'reindex'),
  route('GET', '/$meta', 'meta'),
  route('GET', '/{type}/$meta', 'meta'),
  route('GET', '/{type}/{id}/$meta', 'meta'),
  route('POST', '/$apply-fhirpath', 'apply-fhirpath'),
  route('POST', '/{type}/$validate', 'validate'),
  route('GET', '/{type}/{id}/$validate', 'validate'),
  route('POST', '/{type}/{id}/$validate', 'validate'),
  route('GET', '/{type}/$everything', 'everything'),
  route('POST', '/{type}/$everything', 'everything'),
  route('GET', '/{type}/{id}/$everything', 'everything'),
  route('POST', '/{type}/{id}/$everything', 'everything'),
  route('GET', '/{type}/$docref', 'docref'),
  route('POST', '/{type}/$docref', 'docref'),
  route('GET', '/$export', 'export'),
  route('POST', '/$export', 'export'),
  route('GET', '/{type}/$export', 'export'),
  route('POST', '/{type}/$export', 'export'),
  route('GET', '/{type}/{id}/$export', 'export'),
  route('POST', '/{type}/{id}/$export', 'export'),
  route('GET', '/export/{id}', 'export-status'),
  route('DELETE', '/export/{id}', 'export-cancel'),
  route('GET', '/export-files/{id}/{file}', 'export-file'),
  route('POST', '/', 'bundle'),
  route('GET', '/', 'search-system'),
  route('POST', '/_search', 'search-system'),
  route('GET', '/_history', 'history-system'),
  route('GET', '/{type}', 'search-type'),
  route('POST', '/{type}/_search', 'search-type'),
  route('GET', '/{type}/_history', 'history-type'),
  route('POST', '/{type}', 'create'),
  route('PUT', '/{type}', 'update'),
  route('PATCH', '/{type}', 'patch'),
  route('DELETE', '/{type}', 'delete'),
  route('GET', '/{type}/{id}', 'read'),
  route('PUT', '/{type}/{id}', 'update'),
  route('PATCH', '/{type}/{id}', 'patch'),
  route('DELETE', '/{type}/{id}', 'delete'),
  route('GET', '/{owner}/{ownerId}/*', 'search-system'),
  route('POST', '/{owner}/{ownerId}/_search', 'search-system'),
  route('GET', '/{owner}/{ownerId}/{type}', 'search-type'),
  route('POST', '/{owner}/{ownerId}/{type}/_search', 'search-type'),
  route('GET', '/{type}/{id}/_history', 'history-instance'),
  route('GET', '/{type}/{id}/_history/{versionId}', 'vread'),
]

const endpointRoute = (method: string, path: string, interaction: EndpointCode): EndpointRoute => ({ method, path, interaction })

/** Routes of the authorization server. No other routes exist below `/auth` and `/.well-known`. */
export const ENDPOINT_ROUTES: readonly EndpointRoute[] = [
  endpointRoute('GET', '/.well-known/smart-configuration', 'smart-configuration'),
  endpointRoute('GET', '/.well-known/openid-configuration', 'openid-configuration'),
  endpointRoute('GET', '/.well-known/oauth-authorization-server', 'openid-configuration'),
  endpointRoute('GET', '/auth/jwks', 'jwks'),
  endpointRoute('POST', '/auth/token', 'token'),
  endpointRoute('POST', '/auth/introspect', 'introspect'),
  endpointRoute('POST', '/auth/revoke', 'revoke'),
  endpointRoute('GET', '/auth/style', 'style'),
  endpointRoute('GET', '/auth/authorize', 'authorize'),
  endpointRoute('POST', '/auth/authorize', 'authorize'),
  endpointRoute('GET', '/auth/login', 'login'),
  endpointRoute('POST', '/auth/login', 'login'),
  endpointRoute('GET', '/auth/consent', 'consent'),
  endpointRoute('POST', '/auth/consent', 'consent'),
  endpointRoute('GET', '/auth/account', 'account'),
  endpointRoute('POST', '/auth/account', 'account'),
  endpointRoute('GET', '/auth/logout', 'logout'),
  endpointRoute('POST', '/auth/logout', 'logout'),
]

/**
 * Whether clients may send HEAD to the route, because its GET has no effect. The GET of an export starts a job. The GET of `authorize`
 * issues a code to a logged-in user. https://www.rfc-editor.org/rfc/rfc9110#section-9.2.1
 */
export const isHeadAllowed = ({ method, interaction }: Route | EndpointRoute): boolean =>
  method === 'GET' && interaction !== 'export' && interaction !== 'authorize'

/** Whether the endpoint is a page that a user sees in a browser. */
export const isPage = (code: string): boolean => ['authorize', 'login', 'consent', 'account', 'logout'].includes(code)

export const isEndpointCode = (code: InteractionCode | EndpointCode): code is EndpointCode =>
  ENDPOINT_ROUTES.some(({ interaction }) => interaction === code)
