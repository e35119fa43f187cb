/**
 * View of a client or of scopes: while it is active, all pages use a token that was exchanged for the person's own and shows less.
 * https://www.rfc-editor.org/rfc/rfc8693
 */
import { signal } from '@preact/signals'
import { place } from './place.ts'
import { accessToken, requestToken, tenant } from './session.ts'
import { IS_OPEN } from './settings.ts'

/** Active view. `name`: client id or scopes, as the person typed them. `scopes`: those of the token. */
export type View = { readonly name: string; readonly scopes: readonly string[] }

export const seenAs = signal<View | undefined>(undefined)

const STORED = 'fhir-explorer-view'
/** Milliseconds before the expiry of a token at which it is exchanged again. */
const MARGIN = 15_000

type Granted = { readonly access_token: string; readonly scope: string; readonly expires_in: number }
type Exchanged = { readonly text: string; readonly scopes: readonly string[]; readonly expires: number }

/** Latest exchange. `key`: view, patient and tenant of the token. Concurrent requests share it. */
let latest: { readonly key: string; readonly exchanged: Promise<Exchanged> } | undefined
/** Patient of the latest exchange that succeeded. Pages of other resources keep it. */
let known: { readonly patient: string | undefined; readonly tenant: string } | undefined

/** Shows all pages as this client, or with these scopes. Throws Error with a message for the person, and then changes nothing. */
export async function startView(text: string): Promise<void> {
  const name = text.trim()
  const { scopes } = await exchangedFor(name)
  sessionStorage.setItem(STORED, name)
  seenAs.value = { name, scopes }
}

/** Shows all pages with the person's own access again. */
export function stopView(): void {
  sessionStorage.removeItem(STORED)
  latest = undefined
  seenAs.value = undefined
}

/**
 * Continues the view that was active before the browser left the page for a login. If the exchange fails, the view stays and the pages show
 * the error: they must not show the person's own data in its place. An open server has no views, and needs no storage.
 */
export async function resumeView(): Promise<void> {
  if (IS_OPEN) return
  const name = sessionStorage.getItem(STORED)
  if (name === null) return
  await startView(name).catch(() => {
    seenAs.value = { name, scopes: [] }
  })
}

/** Returns the access token of the active view, or undefined if there is none. Throws Error with a message for the person. */
export async function viewToken(): Promise<string | undefined> {
  return seenAs.value === undefined ? undefined : (await exchangedFor(seenAs.value.name)).text
}

async function exchangedFor(name: string): Promise<Exchanged> {
  const patient = patientNow()
  const key = JSON.stringify([name, patient, tenant.value])
  if (latest?.key === key) {
    const exchanged = await latest.exchanged.catch(() => undefined)
    if (exchanged !== undefined && Date.now() < exchanged.expires - MARGIN) return exchanged
  }
  latest = { key, exchanged: exchange(name, patient) }
  return latest.exchanged
}

/** Returns the patient of the current page. On pages without one, returns the patient of the latest exchange in the tenant. */
function patientNow(): string | undefined {
  const [, id] = /^\/Patient\/([^/*_][^/*]*)/.exec(place.value.path) ?? []
  if (id !== undefined) return decodeURIComponent(id)
  return known?.tenant === tenant.value ? known.patient : undefined
}

async function exchange(name: string, patient: string | undefined): Promise<Exchanged> {
  const body = new URLSearchParams({
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    client_id: 'explorer',
    subject_token: accessToken() ?? '',
    subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    // Scopes contain a slash, and client ids never do.
    [name.includes('/') ? 'scope' : 'as_client']: name,
    ...(patient === undefined ? {} : { patient }),
    ...(tenant.value === '' ? {} : { tenant: tenant.value }),
  })
  const { access_token, scope, expires_in } = await requestToken<Granted>(body, 'The view was not started')
  known = { patient, tenant: tenant.value }
  return { text: access_token, scopes: scope.split(' '), expires: Date.now() + expires_in * 1_000 }
}
