/**
 * Authorization endpoint: login, choice of a patient, consent, and return to the app. Until it issues a code it stores nothing about a
 * request: the URL of each page contains the whole request, which each page checks again.
 * https://www.rfc-editor.org/rfc/rfc6749#section-4.1
 */
import type { Client } from '../../ports/rows/clients.ts'
import type { ParameterPairs } from '../../search/query/parameter-pairs.ts'
import type { AuditFacts, AuthPorts, AuthRequest, AuthResponse, Endpoint, FoundPatient } from '../endpoint.ts'
import { makeCode } from '../grants/authorization-code-grant.ts'
import {
  type AuthorizationRequest,
  authorizationRequestOf,
  CHOSEN_PATIENT_PARAMETER,
  findRequestingClient,
  PATIENT_SEARCH_PARAMETER,
  queryOf,
  type RequestingClient,
} from '../grants/authorization-request.ts'
import { selectAllowedScopes } from '../grants/category-scopes.ts'
import { consentOf, storeConsent } from '../grants/consents.ts'
import { parseRequestedScopes } from '../grants/granted-scopes.ts'
import { generationsOf, registrationOf } from '../grants/user-grant.ts'
import { type LaunchContext, launchContextOf } from '../launch/launch-context.ts'
import { useLaunch } from '../launch/launches.ts'
import { formBindingOf, hasValidCsrf, type Session, sessionOf } from '../login/sessions.ts'
import { OAuthError } from '../oauth-error.ts'
import { createRandomSecret } from '../random-secret.ts'
import { withParameters } from '../redirect-uri.ts'
import { isSingleTenant } from '../tenant-intersection.ts'
import type { UserGrant } from '../user-grant-type.ts'
import { frameOf } from './organization.ts'
import { seeOther } from './page-frame.ts'
import { consentPage, isMandatoryScope, loginPage, type PageForm, patientPickerPage } from './page-templates.ts'

export type AuthorizePorts = Pick<
  AuthPorts,
  'clients' | 'users' | 'grants' | 'revocations' | 'clock' | 'choices' | 'patients' | 'isDecidable'
>

/**
 * Shows the next page of a request, or returns to the app with a code. Redirects a POST to a GET: a browser sends the session cookie with a
 * request from another site only if it is a GET.
 */
export const authorize =
  (ports: AuthorizePorts): Endpoint =>
  async (request) => {
    const pairs = request.method === 'POST' ? request.form : request.query
    const asker = await findRequestingClient(ports, pairs, request)
    if (request.method === 'POST') return seeOther(asQuery(request, pairs))
    return tellingClient(asker, request, async () => {
      const asked = authorizationRequestOf(asker, pairs, request, ports)
      const session = await sessionOf(ports, request)
      if (session === undefined || mustLogIn(asked, session, ports.clock.now())) return showLogin(ports, asked, request)
      const context = await launchContextOf(ports, asked, session.user)
      if (context.mustChoose) return showPicker(ports, asked, { session, context }, request)
      return consentOrCode(ports, asked, { session, context }, request)
    })
  }

/** Maximum characters of the URL of a request. CloudFront limits a URL to 8,192 bytes. A longer request is rejected. */
const LONGEST_URL = 8_000

/** Returns the URL of the same request as a GET. Throws OAuthError if it is longer than `LONGEST_URL`. */
function asQuery({ baseUrl }: AuthRequest, pairs: ParameterPairs): string {
  const url = `${baseUrl}/auth/authorize?${queryOf(pairs, [])}`
  if (url.length > LONGEST_URL) throw new OAuthError('invalid_request', `The request is longer than a URL: ${LONGEST_URL} bytes`)
  return url
}

/**
 * Receives the form of the consent page, whose URL contains the query of the authorization request. A GET redirects to the authorization
 * endpoint.
 */
export const consent =
  (ports: AuthorizePorts): Endpoint =>
  async (request) => {
    const asker = await findRequestingClient(ports, request.query, request)
    if (request.method === 'GET') return seeOther(`${request.baseUrl}/auth/authorize?${queryOf(request.query, [])}`)
    if (!hasValidCsrf(request))
      throw new OAuthError('invalid_request', 'This page was open for too long: go back to the app, and begin again.', 403)
    return tellingClient(asker, request, async () => {
      const asked = authorizationRequestOf(asker, request.query, request, ports)
      const valuesOf = (name: string) => request.form.filter(([each]) => each === name).map(([, value]) => value)
      // guard: consent-needs-allow
      if (valuesOf('decision')[0] !== 'allow') throw new OAuthError('access_denied', 'The user did not allow it')
      const session = await sessionOf(ports, request)
      const isLoggedIn = session !== undefined && !mustLogIn(asked, session, ports.clock.now())
      const context = isLoggedIn ? await launchContextOf(ports, asked, session.user) : undefined
      if (!isLoggedIn || context === undefined || context.mustChoose)
        return seeOther(`${request.baseUrl}/auth/authorize?${queryOf(request.query, [])}`)
      const kept = parseRequestedScopes(
        selectAllowedScopes(context.scopes, [...context.scopes.filter(isMandatoryScope), ...valuesOf('keep')]).join(' '),
      )
      if (kept.length === 0) throw new OAuthError('access_denied', 'The user allowed nothing')
      return giveCode(ports, asked, { session, context, scopes: kept }, request)
    })
  }

/** Runs `work`, and sends its OAuthErrors to the redirect URI of the client. */
async function tellingClient(
  { redirectUri, state }: RequestingClient,
  request: AuthRequest,
  work: () => Promise<AuthResponse>,
): Promise<AuthResponse> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error
    request.note({ outcome: error.code })
    const told = { error: error.code, error_description: error.message, state, iss: request.baseUrl }
    return seeOther(withParameters(redirectUri, told))
  }
}

const formOf = (ports: AuthorizePorts, request: AuthRequest, path: string, query: string, leadsTo: string): PageForm => ({
  ...formBindingOf(request),
  ...frameOf(ports, request),
  action: `${request.baseUrl}/auth/${path}${query === '' ? '' : `?${query}`}`,
  denial: denialUrlOf(request),
  leadsTo,
})

/** Returns the URL to which a form can send the user's denial of the request. */
export const denialUrlOf = ({ baseUrl, query }: AuthRequest): string =>
  `${baseUrl}/auth/consent?${queryOf(query, [PATIENT_SEARCH_PARAMETER, CHOSEN_PATIENT_PARAMETER])}`

const mustLogIn = ({ prompt, maxAge }: AuthorizationRequest, { authTime }: Session, now: number): boolean =>
  prompt.includes('login') || prompt.includes('select_account') || (maxAge !== undefined && now / 1000 - authTime > maxAge)

function showLogin(ports: AuthorizePorts, asked: AuthorizationRequest, request: AuthRequest): AuthResponse {
  const { prompt, client, redirectUri, loginHint } = asked
  if (prompt.includes('none')) throw new OAuthError('login_required', 'No user is logged in')
  const form = formOf(ports, request, 'login', queryOf(request.query, []), redirectUri)
  return loginPage({ form, app: client.name, ...(loginHint === undefined ? {} : { name: loginHint }) })
}

const hasSeveral = ({ choices }: AuthorizePorts, { user }: Session): boolean => choices.tenancy && !isSingleTenant(user.tenants)

/**
 * Returns the audit facts about the patients that a page shows. A record has one tenant, so patients of several tenants carry theirs:
 * `north/Patient/1`.
 */
function notedOf(shown: readonly FoundPatient[]): AuditFacts {
  const [tenant, ...others] = new Set(shown.map((patient) => patient.tenant))
  if (tenant === undefined) return { patients: shown.map(({ id }) => `Patient/${id}`) }
  if (others.length === 0) return { tenant, patients: shown.map(({ id }) => `Patient/${id}`) }
  return { patients: shown.map((patient) => `${patient.tenant}/Patient/${patient.id}`) }
}

type Known = { readonly session: Session; readonly context: LaunchContext }

async function showPicker(ports: AuthorizePorts, asked: AuthorizationRequest, { session, context }: Known, request: AuthRequest) {
  if (asked.prompt.includes('none')) throw new OAuthError('interaction_required', 'A patient must be chosen')
  const text = request.query.find(([name]) => name === PATIENT_SEARCH_PARAMETER)?.[1].slice(0, 200) ?? ''
  const found = await ports.patients.find(session.user, context.tenants, text)
  request.note(notedOf(found))
  const query = new URLSearchParams(queryOf(request.query, [PATIENT_SEARCH_PARAMETER, CHOSEN_PATIENT_PARAMETER]))
  const form = formOf(ports, request, 'authorize', '', asked.redirectUri)
  return patientPickerPage({ form, app: asked.client.name, query, text, found, namesTenants: hasSeveral(ports, session) })
}

/**
 * Shows the consent page, or returns a code without it. It is skipped if the user decided about every scope before, and the request surely
 * comes from the client: another app can use the id of a public client, unless the redirect URI is https.
 *
 * It is never skipped with a chosen patient in the URL. The client may have written it, so the page shows the patient and the user
 * confirms.
 *
 * The explorer needs no consent: its redirect URI lies on this server, so no other app receives its codes.
 */
async function consentOrCode(
  ports: AuthorizePorts,
  asked: AuthorizationRequest,
  known: Known,
  request: AuthRequest,
): Promise<AuthResponse> {
  const { session, context } = known
  const { client, redirectUri, prompt } = asked
  // guard: explorer-consent-only-for-own-address
  if (client.isExplorer === true && client.redirectUris.includes(redirectUri) && asked.patient === undefined)
    return giveCode(ports, asked, { ...known, scopes: context.scopes }, request)
  const before = await consentOf(ports, client, session.user.subject)
  const isKnown = client.authentication.kind !== 'public' || redirectUri.startsWith('https:')
  const isDecided = asked.patient === undefined && context.scopes.every((scope) => before?.asked.includes(scope))
  if (isKnown && isDecided && !prompt.includes('consent')) {
    const scopes = selectAllowedScopes(context.scopes, before?.granted ?? [])
    if (scopes.length > 0) return giveCode(ports, asked, { ...known, scopes }, request)
  }
  if (prompt.includes('none')) throw new OAuthError('consent_required', 'The user has not decided about it')
  const dropped = context.scopes.filter((scope) => before?.asked.includes(scope) && !before.granted.includes(scope))
  const { patient, scopes } = context
  if (patient !== undefined) request.note(notedOf([patient]))
  const form = formOf(ports, request, 'consent', queryOf(request.query, [PATIENT_SEARCH_PARAMETER]), redirectUri)
  return consentPage({
    form,
    client,
    user: session.user,
    scopes,
    dropped,
    granted: before?.granted ?? [],
    tenants: hasSeveral(ports, session) ? context.tenants : [],
    ...(patient === undefined ? {} : { patient }),
  })
}

async function giveCode(
  ports: AuthorizePorts,
  { client, redirectUri, state, challenge, nonce, launch }: AuthorizationRequest,
  { session, context, scopes }: Known & { readonly scopes: readonly string[] },
  request: AuthRequest,
): Promise<AuthResponse> {
  // guard: launch-single-use
  if (launch !== undefined && scopes.includes('launch') && !(await useLaunch(ports, launch)))
    throw new OAuthError('invalid_request', 'launch is not known, or was used')
  const grant = grantOf(client, session, context, scopes)
  await storeConsent(ports, grant, context.scopes)
  const optional = { ...(challenge === undefined ? {} : { challenge }), ...(nonce === undefined ? {} : { nonce }) }
  const code = await makeCode(ports, { grant, redirectUri, ...optional })
  request.note({ outcome: 'code' })
  return seeOther(withParameters(redirectUri, { code, state, iss: request.baseUrl }))
}

const grantOf = (client: Client, { user, key, authTime }: Session, context: LaunchContext, scopes: readonly string[]): UserGrant => ({
  client: client.id,
  ...registrationOf(client),
  ...generationsOf(client, user),
  user: user.name,
  subject: user.subject,
  sid: createRandomSecret(),
  scopes,
  tenants: context.tenants,
  ...(context.patient === undefined ? {} : { patient: context.patient.id }),
  ...(context.encounter === undefined ? {} : { encounter: context.encounter }),
  banner: context.banner,
  authTime,
  session: key,
})

/** Returns the query to continue an authorization request with, for a user that has just logged in. */
export function queryAfterLogin(pairs: ParameterPairs): string {
  const prompt = pairs.find(([name]) => name === 'prompt')?.[1].split(' ') ?? []
  const rest = prompt.filter((each) => each !== 'login' && each !== 'select_account')
  // The login has satisfied `max_age` and the prompts `login` and `select_account`. They are left out, because they would require another
  // login.
  return queryOf(pairs, ['prompt', 'max_age'], rest.length === 0 ? [] : [['prompt', rest.join(' ')]])
}
