/**
 * Login of the person with the authorization server of this server, by authorization code with S256. The access token stays in memory.
 * https://hl7.org/fhir/smart-app-launch/app-launch.html
 */
import { signal } from '@preact/signals'
import { storeJson } from './browser-storage.ts'
import { keepDraft, takeDraft } from './draft.ts'
import { BASE, BASE_PATH, IS_OPEN, ROOT, TENANT_CLAIM } from './settings.ts'

/** Person that is logged in. `tenants`: those of the token; `*` stands for all. */
export type Session = {
  readonly name: string
  readonly scopes: readonly string[]
  readonly tenants: readonly string[]
  readonly isAdministrator: boolean
}

const OPEN: Session = { name: '', scopes: [], tenants: [], isAdministrator: true }
export const session = signal<Session>(OPEN)

/** Tenant that the pages show. Empty: that of the token, or the only one. */
export const tenant = signal('')

/** `obtained` and `expires`: in ms since 1970, by the clock of this machine. */
let token: { readonly text: string; readonly obtained: number; readonly expires: number } | undefined

/** Returns the access token, or undefined if the server needs none. */
export const accessToken = (): string | undefined => token?.text

const PREFIX = 'fhir-explorer-'
const STORED = 'fhir-explorer-login'
/** Present after a login of this tab. */
const DONE = 'fhir-explorer-logged-in'
const PROBE = 'fhir-explorer-probe'
const TENANT = 'fhir-explorer-tenant'
const SCOPES = 'openid fhirUser user/*.cruds system/admin'
/** Milliseconds before the expiry of a token at which it is renewed. */
const MARGIN = 60_000
/** Minimum age of a refused token for a new login, in milliseconds. */
const SHORT = 30_000

/** Milliseconds that the logout waits for the revocation of the token. */
const MOST_REVOKING = 3_000

type Started = { readonly verifier: string; readonly state: string; readonly nonce: string; readonly from: string }

/**
 * Makes sure that a person is logged in. Returns true if the page can continue. Otherwise the browser leaves the page for the login.
 * Throws Error with a message for the person.
 */
export async function logIn(): Promise<boolean> {
  if (IS_OPEN) return true
  if (!isSecureContext) throw new Error('A login needs https, or a browser on the machine of the server')
  requireStorage()
  if (location.pathname !== `${ROOT}/callback`) {
    await redirectToLogin(location.pathname + location.search)
    return false
  }
  if (isOldCallback()) {
    location.replace(ROOT)
    return false
  }
  const { from, ...tokens } = await tokensOf(new URLSearchParams(location.search))
  history.replaceState(null, '', from)
  sessionStorage.setItem(DONE, 'yes')
  useTokens(tokens)
  takeDraft(session.value.name)
  return true
}

/** Throws Error if the browser allows no storage for the page. */
function requireStorage(): void {
  try {
    sessionStorage.setItem(PROBE, '')
    sessionStorage.removeItem(PROBE)
  } catch {
    throw new Error('The browser forbids this page to store data, which the login needs: allow it for this site, and try again')
  }
}

/** Whether the browser's back button led to the end of a login that this tab has used. A browser without storage is not led in circles. */
const isOldCallback = (): boolean => sessionStorage.getItem(STORED) === null && sessionStorage.getItem(DONE) !== null

/** Whether a new login may help after the server refused the token. A token that is refused at once would be refused again. */
export const isWorthRenewal = (): boolean => token !== undefined && Date.now() > token.obtained + SHORT

let renewal: Promise<never> | undefined

/**
 * Renews a token that is expired or refused: the browser leaves the page and returns to it. It never resolves. Concurrent calls begin one
 * login, because the tab remembers only one. Throws Error if the browser cannot keep the unsaved text, and then stays on the page.
 */
export function renewLogin(): Promise<never> {
  renewal ??= redirectToLogin(location.pathname + location.search)
    .catch((error: unknown) => {
      renewal = undefined
      throw error
    })
    .then(() => new Promise<never>(() => undefined))
  return renewal
}

/** Renews the token if it expires soon, before a request that needs it. */
export async function renewIfDue(): Promise<void> {
  if (token !== undefined && Date.now() > token.expires - MARGIN) await renewLogin()
}

/** Key whose value changes when the person signs out in any tab. The browser reports the change to the other tabs. */
const SIGNED_OUT = 'fhir-explorer-signed-out'
addEventListener('storage', ({ key }) => key === SIGNED_OUT && void leave())

/** Signs out in all tabs: revokes their tokens, and leaves the pages for the logout. */
export function logOut(): void {
  try {
    storeJson(SIGNED_OUT, Date.now())
  } catch {
    // The other tabs stay signed in until their tokens expire.
  }
  void leave()
}

/** Leaves the page for the logout. The tab forgets the tenant, the view and every text of the person. */
async function leave(): Promise<void> {
  const revoked = token?.text
  token = undefined
  for (const key of Object.keys(sessionStorage)) if (key.startsWith(PREFIX)) sessionStorage.removeItem(key)
  if (revoked !== undefined) await revoke(revoked).catch(() => undefined)
  location.assign(`${BASE}/auth/logout`)
}

/** Revokes a token, and with it the tokens of its views. Without a connection it lives until it expires. */
const revoke = (revoked: string): Promise<unknown> =>
  fetch(`${BASE_PATH}/auth/revoke`, {
    method: 'POST',
    body: new URLSearchParams({ client_id: 'explorer', token: revoked }),
    credentials: 'omit',
    signal: AbortSignal.timeout(MOST_REVOKING),
  })

export function chooseTenant(name: string): void {
  tenant.value = name
  sessionStorage.setItem(TENANT, name)
}

async function redirectToLogin(from: string): Promise<void> {
  keepDraft(session.value.name)
  const started: Started = { verifier: randomText(), state: randomText(), nonce: randomText(), from }
  sessionStorage.setItem(STORED, JSON.stringify(started))
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(started.verifier))
  const parameters = new URLSearchParams({
    response_type: 'code',
    client_id: 'explorer',
    redirect_uri: `${BASE}/explorer/callback`,
    scope: SCOPES,
    aud: BASE,
    state: started.state,
    nonce: started.nonce,
    code_challenge: base64url(new Uint8Array(digest)),
    code_challenge_method: 'S256',
  })
  location.replace(`${BASE_PATH}/auth/authorize?${parameters}`)
}

type Tokens = { readonly access_token: string; readonly expires_in: number; readonly scope: string; readonly id_token?: string }

async function tokensOf(query: URLSearchParams): Promise<Tokens & { readonly from: string }> {
  const stored = sessionStorage.getItem(STORED)
  sessionStorage.removeItem(STORED)
  const started = stored === null ? undefined : (JSON.parse(stored) as Started)
  if (started === undefined || query.get('state') !== started.state)
    throw new Error('This login was started in another tab, or is already used: open the explorer again')
  const code = query.get('code')
  if (code === null) throw new Error(query.get('error_description') ?? query.get('error') ?? 'The login failed')
  const body = new URLSearchParams({
    grant_type: 'authorization_code',
    client_id: 'explorer',
    code,
    redirect_uri: `${BASE}/explorer/callback`,
    code_verifier: started.verifier,
  })
  const answer = await requestToken<Tokens>(body, 'The login failed')
  if (claimsOf(answer.id_token ?? '').nonce !== started.nonce)
    throw new Error('The login belongs to another request: open the explorer again')
  return { ...answer, from: safePlace(started.from) }
}

/**
 * Sends a request for a token, and returns the response. Throws Error with a message for the person: the reason of the server, or `failure`
 * with the status.
 */
export async function requestToken<Response>(body: URLSearchParams, failure: string): Promise<Response> {
  const response = await fetch(`${BASE_PATH}/auth/token`, { method: 'POST', body, cache: 'no-store', credentials: 'omit' }).catch(
    ({ message }: Error) => {
      throw new Error(`${failure}: the server did not answer (${message})`)
    },
  )
  const answer = await response.json().catch(() => ({}))
  if (response.ok && typeof answer?.access_token === 'string') return answer
  throw new Error(answer?.error_description ?? `${failure}: the server answered ${response.status}`)
}

/** Returns the place to return to, which lies below the explorer. */
function safePlace(from: string): string {
  const url = new URL(from, location.origin)
  const isOwn = url.origin === location.origin && (url.pathname === ROOT || url.pathname.startsWith(`${ROOT}/`))
  return isOwn && url.pathname !== `${ROOT}/callback` ? url.pathname + url.search : ROOT
}

function useTokens({ access_token, expires_in, scope }: Tokens): void {
  token = { text: access_token, obtained: Date.now(), expires: Date.now() + expires_in * 1000 }
  const claims = claimsOf(access_token)
  const tenants = TENANT_CLAIM === '' ? [] : namesOf(claims[TENANT_CLAIM])
  const scopes = scope.split(' ')
  session.value = { name: String(claims.preferred_username ?? ''), scopes, tenants, isAdministrator: scopes.includes('system/admin') }
  const kept = sessionStorage.getItem(TENANT) ?? ''
  const isKept = tenants.includes(kept) || (tenants.includes('*') && kept !== '')
  tenant.value = isKept ? kept : tenants.length > 1 || tenants[0] === '*' ? (tenants.find((each) => each !== '*') ?? 'default') : ''
}

const namesOf = (claim: unknown): readonly string[] =>
  Array.isArray(claim) ? claim.map(String) : typeof claim === 'string' ? claim.split(' ') : []

/** Returns the claims of a JSON Web Token. The token came from the server itself, so the page does not verify its signature. */
function claimsOf(jwt: string): Readonly<Record<string, unknown>> {
  try {
    const bytes = Uint8Array.from(atob(jwt.split('.')[1]!.replaceAll('-', '+').replaceAll('_', '/')), (each) => each.charCodeAt(0))
    return JSON.parse(new TextDecoder().decode(bytes))
  } catch {
    return {}
  }
}

const randomText = (): string => base64url(crypto.getRandomValues(new Uint8Array(32)))

const base64url = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace(/=+$/, '')
