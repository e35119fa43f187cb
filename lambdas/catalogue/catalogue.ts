/**
 * Interactions, endpoints of the authorization server, and their routes, as data. Both deployments and the CapabilityStatement use it, so
 * that they agree. The file imports nothing, because every function bundles it and the stacks read it. https://hl7.org/fhir/R4/http.html
 */

/** Column of the step table in http/order.ts. It determines which steps a request passes. */
export type Column =
  | 'READ'
  | 'SAVE'
  | 'PATCH'
  | 'DELETE'
  | 'SEARCH'
  | 'BUNDLE'
  /** Operations for administrators. */
  | 'OPERATION'
  /** Operations that look up stored resources. The Parameters in their requests are criteria. */
  | 'QUERY'
  /** Operations that work on the resource or the Parameters in the request. */
  | 'INPUT'
  /** Operations that find a member by the Parameters in the request, and store the match. */
  | 'MATCH'
  | 'EXPORT'
  | 'JOB'
  | 'FILE'
  | 'METADATA'
  /** Endpoints of the authorization server. */
  | 'AUTH'
  /** Files of the explorer, which hold no data of the server. */
  | 'EXPLORER'
  /** Health of the server, which holds no data of it. */
  | 'HEALTH'
  /** Requests that reach no interaction. */
  | 'FALLBACK'

type Row = {
  readonly column: Column
  /** Scope letters that the caller needs for the type in the request. `own`: the interaction checks its access itself. */
  readonly scopes: readonly ('c' | 'r' | 'u' | 'd' | 's')[] | 'administrator' | 'own'
  /**
   * Where the CapabilityStatement lists the interaction: for each type, for the system, or as an operation by operation-claims.ts. `none`:
   * not listed, because clients reach it from another response, or it is the statement itself.
   */
  readonly claim: 'type' | 'system' | 'operation' | 'none'
  /** Name of the function that answers on AWS. `cloudfront`: no function, because CloudFront answers. */
  readonly lambda: string
  /**
   * Requests without credentials that are allowed. `all`: every request. `public-read`: those for the types of the setting publicRead.
   * Absent: the interaction requires an authenticated caller.
   */
  readonly admission?: 'all' | 'public-read'
  /** False: HEAD is not allowed. Absent: clients may send HEAD to each route with GET. */
  readonly head?: false
}

/** Matches of one member or of many members. */
const MATCH = { column: 'MATCH', scopes: 'own', claim: 'operation', lambda: 'member-match' } as const
/** Kick-offs of exports. No HEAD, because GET starts a job. */
const EXPORT = { column: 'EXPORT', scopes: 'own', claim: 'operation', lambda: 'export', head: false } as const

/**
 * Interactions by code. The CapabilityStatement lists them in this order. A new row requires an authenticated caller, unless it has
 * `admission`.
 */
// biome-ignore format: a table
export const INTERACTIONS = {
  read:               { column: 'READ',      scopes: ['r'],           claim: 'type',      lambda: 'read', admission: 'public-read' },
  vread:              { column: 'READ',      scopes: ['r'],           claim: 'type',      lambda: 'vread' },
  update:             { column: 'SAVE',      scopes: ['u'],           claim: 'type',      lambda: 'update' },
  patch:              { column: 'PATCH',     scopes: ['u'],           claim: 'type',      lambda: 'patch' },
  delete:             { column: 'DELETE',    scopes: ['d'],           claim: 'type',      lambda: 'delete' },
  'history-instance': { column: 'READ',      scopes: ['r'],           claim: 'type',      lambda: 'history' },
  'history-type':     { column: 'READ',      scopes: ['s'],           claim: 'type',      lambda: 'history' },
  create:             { column: 'SAVE',      scopes: ['c'],           claim: 'type',      lambda: 'create' },
  'search-type':      { column: 'SEARCH',    scopes: ['s'],           claim: 'type',      lambda: 'search', admission: 'public-read' },
  bundle:             { column: 'BUNDLE',    scopes: 'own',           claim: 'system',    lambda: 'bundle' },
  'search-system':    { column: 'SEARCH',    scopes: 'own',           claim: 'system',    lambda: 'search' },
  'history-system':   { column: 'READ',      scopes: 'own',           claim: 'system',    lambda: 'history' },
  // Public: without a token, the statement shows no definitions of tenants.
  capabilities:       { column: 'METADATA',  scopes: 'own',           claim: 'none',      lambda: 'capabilities', admission: 'all' },
  reindex:            { column: 'OPERATION', scopes: 'administrator', claim: 'operation', lambda: 'reindex' },
  'reindex-status':   { column: 'OPERATION', scopes: 'administrator', claim: 'operation', lambda: 'reindex-status' },
  meta:               { column: 'QUERY',     scopes: ['r'],           claim: 'operation', lambda: 'meta' },
  validate:           { column: 'INPUT',     scopes: 'own',           claim: 'operation', lambda: 'validate' },
  'apply-fhirpath':   { column: 'INPUT',     scopes: 'own',           claim: 'operation', lambda: 'apply-fhirpath' },
  // guard: everything-needs-search-scope
  everything:         { column: 'QUERY',     scopes: ['r', 's'],      claim: 'operation', lambda: 'everything' },
  // guard: docref-needs-read-scope
  docref:             { column: 'QUERY',     scopes: ['r', 's'],      claim: 'operation', lambda: 'search' },
  'member-match':     MATCH,
  'bulk-member-match': MATCH,
  'provider-member-match': MATCH,
  export:             EXPORT,
  'export-for-partner': EXPORT,
  'export-list':      { column: 'JOB',       scopes: 'own',           claim: 'none',      lambda: 'export-status' },
  'export-status':    { column: 'JOB',       scopes: 'own',           claim: 'none',      lambda: 'export-status' },
  'export-cancel':    { column: 'JOB',       scopes: 'own',           claim: 'none',      lambda: 'export-cancel' },
  'export-file-for-partner': { column: 'FILE', scopes: 'own',          claim: 'none',      lambda: 'export-status' },
  // Public: the signed link authorizes the download.
  'export-file':      { column: 'FILE',      scopes: 'own',           claim: 'none',      lambda: 'cloudfront', admission: 'all' },
} as const satisfies Readonly<Record<string, Row>>

/**
 * Endpoint of the authorization server, of the explorer, or of the health of the server. `page`: a user sees it in a browser, so errors are
 * shown as a page. `column`: absent for endpoints of the authorization server.
 */
type EndpointRow = Pick<Row, 'lambda' | 'head'> & { readonly page?: true; readonly column?: 'EXPLORER' | 'HEALTH' }

/** Endpoints by code. An endpoint authenticates its caller itself, if it needs to. */
// biome-ignore format: a table
export const ENDPOINTS = {
  token:                  { lambda: 'token' },
  introspect:             { lambda: 'introspect' },
  revoke:                 { lambda: 'revoke' },
  // The function of revocations registers and removes apps, because a removal revokes their tokens.
  // No HEAD, because each method of a path is a resource of the stack.
  register:               { lambda: 'revoke', head: false },
  jwks:                   { lambda: 'discovery' },
  'smart-configuration':  { lambda: 'discovery' },
  'openid-configuration': { lambda: 'discovery' },
  style:                  { lambda: 'authorize' },
  // No HEAD, because GET issues a code to a logged-in user.
  authorize:              { lambda: 'authorize', page: true, head: false },
  login:                  { lambda: 'authorize', page: true },
  consent:                { lambda: 'authorize', page: true },
  account:                { lambda: 'authorize', page: true },
  logout:                 { lambda: 'authorize', page: true },
  // Requires no authentication: its pages request data with the access token of their user.
  // No HEAD, because each method of a path is a resource of the stack.
  explorer:               { lambda: 'explorer', column: 'EXPLORER', head: false },
  // Requires no authentication: load balancers and monitors have no token.
  health:                 { lambda: 'health', column: 'HEALTH' },
} as const satisfies Readonly<Record<string, EndpointRow>>

export type InteractionCode = keyof typeof INTERACTIONS
export type EndpointCode = keyof typeof ENDPOINTS
/** Codes of the endpoints of the authorization server. */
export type AuthEndpointCode = Exclude<EndpointCode, 'explorer' | 'health'>
/** Code of a pipeline. `fallback`: answers requests that reach no interaction. */
export type PipelineCode = InteractionCode | EndpointCode | 'fallback'

type CodesWhere<Rows, Field extends string, Value> = {
  [Code in keyof Rows]: Rows[Code] extends Readonly<Record<Field, Value>> ? Code : never
}[keyof Rows]

/** Codes of operations, for each of which operation-claims.ts needs an entry. */
export type OperationCode = CodesWhere<typeof INTERACTIONS, 'claim', 'operation'>
/** Names of the deployed functions that answer requests. */
export type HttpFunction =
  | Exclude<(typeof INTERACTIONS)[InteractionCode]['lambda'], 'cloudfront'>
  | (typeof ENDPOINTS)[EndpointCode]['lambda']
  | 'fallback'
/** Codes of the interactions that a deployed function answers. */
export type InteractionsOf<Name extends HttpFunction> = CodesWhere<typeof INTERACTIONS, 'lambda', Name>
/** Codes of the endpoints that a deployed function answers. */
export type EndpointsOf<Name extends HttpFunction> = CodesWhere<typeof ENDPOINTS, 'lambda', Name>

export const isEndpointCode = (code: PipelineCode): code is EndpointCode => Object.hasOwn(ENDPOINTS, code)

/** Returns the row of the code, typed with the optional fields that only some rows have. */
const rowOf = (code: InteractionCode | EndpointCode): Partial<Row & Pick<EndpointRow, 'page'>> =>
  isEndpointCode(code) ? ENDPOINTS[code] : INTERACTIONS[code]

export function columnOf(code: PipelineCode): Column {
  if (code === 'fallback') return 'FALLBACK'
  return rowOf(code).column ?? 'AUTH'
}

/** Whether the code requires an authenticated caller, unless the request is for a type of public read. */
export const requiresToken = (code: PipelineCode): boolean =>
  code !== 'fallback' && !isEndpointCode(code) && rowOf(code).admission !== 'all'

/** Returns the scope letter that a request of public read needs, or undefined if the code is closed to public read. */
export function publicLetterOf(code: PipelineCode): 'r' | 's' | undefined {
  const { admission, scopes: [letter] = [] } = code === 'fallback' ? {} : rowOf(code)
  return admission === 'public-read' && (letter === 'r' || letter === 's') ? letter : undefined
}

/** Whether the code is a page that a user sees in a browser. */
export const isPage = (code: PipelineCode): boolean => code !== 'fallback' && rowOf(code).page === true

export type Route = { readonly method: string; readonly path: string; readonly interaction: InteractionCode }
export type EndpointRoute = { readonly method: string; readonly path: string; readonly interaction: EndpointCode }

type Routes<Code> = Readonly<Record<`${'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} /${string}`, Code>>

function routesOf<Code>(routes: Routes<Code>) {
  return Object.entries(routes).map(([route, interaction]) => {
    const [method, path] = route.split(' ') as [string, string]
    return { method, path, interaction }
  })
}

/**
 * Routes of the interactions. Variables in a path: `{type}` is a resource type, `{id}` the id of a resource or an export, `{versionId}` a
 * version, `{file}` an export file, `{owner}/{ownerId}` a compartment. A static segment takes precedence over a variable. The header Allow
 * and the routes of API Gateway list the methods of a path in this order.
 */
export const ROUTES: readonly Route[] = routesOf<InteractionCode>({
  'GET /metadata': 'capabilities',
  'GET /$reindex-status': 'reindex-status',
  'POST /$reindex': 'reindex',
  'GET /$meta': 'meta',
  'GET /{type}/$meta': 'meta',
  'GET /{type}/{id}/$meta': 'meta',
  'POST /$apply-fhirpath': 'apply-fhirpath',
  'POST /{type}/$validate': 'validate',
  'GET /{type}/{id}/$validate': 'validate',
  'POST /{type}/{id}/$validate': 'validate',
  'GET /{type}/$everything': 'everything',
  'POST /{type}/$everything': 'everything',
  'GET /{type}/{id}/$everything': 'everything',
  'POST /{type}/{id}/$everything': 'everything',
  'GET /{type}/$docref': 'docref',
  'POST /{type}/$docref': 'docref',
  'POST /{type}/$member-match': 'member-match',
  'POST /{type}/$bulk-member-match': 'bulk-member-match',
  'POST /{type}/$provider-member-match': 'provider-member-match',
  'GET /$export': 'export',
  'POST /$export': 'export',
  'GET /{type}/$export': 'export',
  'POST /{type}/$export': 'export',
  'GET /{type}/{id}/$export': 'export',
  'POST /{type}/{id}/$export': 'export',
  'GET /{type}/{id}/$davinci-data-export': 'export-for-partner',
  'POST /{type}/{id}/$davinci-data-export': 'export-for-partner',
  'GET /export': 'export-list',
  'GET /export/{id}': 'export-status',
  'DELETE /export/{id}': 'export-cancel',
  'GET /export/{id}/{file}': 'export-file-for-partner',
  'GET /export-files/{id}/{file}': 'export-file',
  'POST /': 'bundle',
  'GET /': 'search-system',
  'POST /_search': 'search-system',
  'GET /_history': 'history-system',
  'GET /{type}': 'search-type',
  'POST /{type}/_search': 'search-type',
  'GET /{type}/_history': 'history-type',
  'POST /{type}': 'create',
  'PUT /{type}': 'update',
  'PATCH /{type}': 'patch',
  'DELETE /{type}': 'delete',
  'GET /{type}/{id}': 'read',
  'PUT /{type}/{id}': 'update',
  'PATCH /{type}/{id}': 'patch',
  'DELETE /{type}/{id}': 'delete',
  'GET /{owner}/{ownerId}/*': 'search-system',
  'POST /{owner}/{ownerId}/_search': 'search-system',
  'GET /{owner}/{ownerId}/{type}': 'search-type',
  'POST /{owner}/{ownerId}/{type}/_search': 'search-type',
  'GET /{type}/{id}/_history': 'history-instance',
  'GET /{type}/{id}/_history/{versionId}': 'vread',
})

/**
 * Routes of the authorization server, of the explorer and of the health. No other routes exist below `/auth`, `/.well-known`, `/explorer` and
 * `/health`. `{proxy+}` is the rest of a path, of any number of segments. Clients find `/health` at the root of the origin.
 */
export const ENDPOINT_ROUTES: readonly EndpointRoute[] = routesOf<EndpointCode>({
  'GET /.well-known/smart-configuration': 'smart-configuration',
  'GET /.well-known/openid-configuration': 'openid-configuration',
  'GET /.well-known/oauth-authorization-server': 'openid-configuration',
  'GET /auth/jwks': 'jwks',
  'POST /auth/token': 'token',
  'POST /auth/introspect': 'introspect',
  'POST /auth/revoke': 'revoke',
  'POST /auth/register': 'register',
  'GET /auth/register': 'register',
  'DELETE /auth/register': 'register',
  'GET /auth/style': 'style',
  'GET /auth/authorize': 'authorize',
  'POST /auth/authorize': 'authorize',
  'GET /auth/login': 'login',
  'POST /auth/login': 'login',
  'GET /auth/consent': 'consent',
  'POST /auth/consent': 'consent',
  'GET /auth/account': 'account',
  'POST /auth/account': 'account',
  'GET /auth/logout': 'logout',
  'POST /auth/logout': 'logout',
  'GET /explorer': 'explorer',
  'GET /explorer/{proxy+}': 'explorer',
  'GET /health': 'health',
})

/** Whether clients may send HEAD to the route: only if its GET has no effect. https://www.rfc-editor.org/rfc/rfc9110#section-9.2.1 */
export const isHeadAllowed = ({ method, interaction }: Route | EndpointRoute): boolean =>
  method === 'GET' && rowOf(interaction).head !== false
