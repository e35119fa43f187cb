/** Templates of the pages of the authorization server. */
import type { Client } from '../../ports/rows/clients.ts'
import type { User } from '../../ports/rows/users.ts'
import type { AuthResponse, FoundPatient } from '../endpoint.ts'
import { CHOSEN_PATIENT_PARAMETER, PATIENT_SEARCH_PARAMETER } from '../grants/authorization-request.ts'
import { categoryScopesOf } from '../grants/category-scopes.ts'
import { type Html, html } from './html.ts'
import { renderPage } from './page-frame.ts'
import { patientDetails, shortNumber } from './patient-description.ts'
import { ACCESS_DURATION_TEXT, describeScope, isRefreshScope } from './scope-descriptions.ts'

/**
 * Common properties of the forms of a page. `action`: URL that receives the form. `csrf`: token that binds it to the browser. `leadsTo`:
 * redirect URI to which redirects after the form finally lead. `headers`: further headers of the page.
 */
export type PageForm = {
  readonly action: string
  readonly csrf: string
  /** Name of the organization that runs the server. */
  readonly organization: string
  /** URL of the user's account page. */
  readonly account: string
  readonly leadsTo?: string
  /** URL that receives the user's denial of access; absent if no app requests access. */
  readonly denial?: string
  readonly headers: Readonly<Record<string, string>>
}

const hidden = (name: string, value: string): Html => html`<input type="hidden" name="${name}" value="${value}">`

const around = ({ leadsTo, headers, organization }: PageForm) => ({ ...(leadsTo === undefined ? {} : { leadsTo }), headers, organization })

const accountLink = ({ account }: PageForm): Html => html`<a href="${account}">Your account</a>`

/** Returns the form that denies access and leads back to the app, or false if no app requests access. */
const cancel = ({ denial, csrf }: PageForm): Html | false =>
  denial !== undefined &&
  html`<form method="post" action="${denial}">${hidden('csrf', csrf)}
<div class="buttons"><button name="decision" value="deny" class="other">Cancel</button></div></form>`

export type LoginParts = {
  readonly form: PageForm
  /** Name of the app that requests access; absent for the account page. */
  readonly app?: string
  readonly name?: string
  readonly fault?: string
  readonly status?: number
}

export const loginPage = ({ form, app, name, fault, status = 200 }: LoginParts): AuthResponse =>
  renderPage({
    ...around(form),
    title: 'Sign in',
    status,
    main: html`
${app !== undefined && html`<p>to continue to <strong>${app}</strong></p>`}
${fault !== undefined && html`<p class="bad" id="fault" role="alert">${fault}</p>`}
<form method="post" action="${form.action}">
${hidden('csrf', form.csrf)}
<label for="username">User name</label>
<input type="text" id="username" name="username" value="${name}" autocomplete="username" autocapitalize="none" spellcheck="false" required>
<label for="password">Password</label>
<input type="password" id="password" name="password" autocomplete="current-password" required>
<div class="buttons"><button>Sign in</button></div>
</form>
${cancel(form)}`,
  })

export type ConsentParts = {
  readonly form: PageForm
  readonly client: Client
  readonly user: User
  readonly scopes: readonly string[]
  /** Scopes whose boxes are unticked when the page opens, because the user denied them before. */
  readonly dropped: readonly string[]
  /** Scopes and category scopes that the user allowed before. */
  readonly granted: readonly string[]
  readonly patient?: FoundPatient
  /** Tenants to display; empty if the user has only one. */
  readonly tenants: readonly string[]
}

/** Whether the consent page lists no box for the scope: consent always includes it. Such a scope alone opens no data. */
export const isMandatoryScope = (scope: string): boolean => scope === 'openid' || scope.startsWith('launch')

export const consentPage = ({ form, client, user, scopes, dropped, granted, patient, tenants }: ConsentParts): AuthResponse =>
  renderPage({
    ...around(form),
    title: `Allow access for ${client.name}?`,
    main: html`
<p><strong>${client.name}</strong> asks for access to health data at <strong>${form.organization}</strong>.</p>
${
  patient !== undefined &&
  html`<p>Patient: <strong>${patient.name}</strong><br>${patientDetails(patient)}<br><span class="quiet">${smallPrint(patient, tenants.length > 0)}</span></p>`
}
${patient === undefined && tenants.length > 0 && html`<p>The data is that of ${tenantsInWords(tenants)}.</p>`}
<p>You are signed in as <strong>${user.name}</strong>. ${accountLink(form)}</p>
<form method="post" action="${form.action}">
${hidden('csrf', form.csrf)}
<fieldset>
<legend>${client.name} may do what you leave ticked:</legend>
<ul>${scopes.filter((scope) => !isMandatoryScope(scope)).map((scope) => html`<li>${choice(scope, describeScope(scope), !dropped.includes(scope))}${parts(scope, scopes, granted)}</li>`)}</ul>
</fieldset>
<p>Access ends ${ACCESS_DURATION_TEXT} after you allow it${scopes.some(isRefreshScope) && ', or later if you leave “Keep access” ticked'}.
You can end it earlier on your account page.</p>
<div class="buttons">
<button name="decision" value="allow">Allow</button>
<button name="decision" value="deny" class="other">Do not allow</button>
</div>
</form>`,
  })

const choice = (scope: string, words: string, ticked: boolean): Html => html`
<label class="choice"><input type="checkbox" name="keep" value="${scope}"${ticked && html` checked`}>
<span>${words}<br><span class="quiet">${scope}</span></span></label>`

/**
 * Returns the boxes for the category scopes of a scope for a whole type, or false if it has none. Omits category scopes that the app
 * requests separately.
 */
function parts(whole: string, scopes: readonly string[], granted: readonly string[]): Html | false {
  const narrower = categoryScopesOf(whole).filter(({ scope }) => !scopes.includes(scope))
  const isOpen = narrower.some(({ scope }) => granted.includes(scope))
  const list = narrower.map(({ name, scope }) => html`<li>${choice(scope, name, granted.includes(scope))}</li>`)
  return (
    list.length > 0 &&
    html`<details${isOpen && html` open`}><summary>Allow only a part</summary><p class="quiet">Untick the entry above, and tick the parts that you allow:</p><ul>${list}</ul></details>`
  )
}

export type PatientPickerParts = {
  readonly form: PageForm
  readonly app: string
  /** Query of the authorization request, which both forms repeat in hidden fields. */
  readonly query: URLSearchParams
  readonly text: string
  readonly found: readonly FoundPatient[]
  readonly namesTenants: boolean
}

const tenantsInWords = (tenants: readonly string[]): string =>
  tenants.includes('*') ? 'all tenants' : `the tenant${tenants.length > 1 ? 's' : ''} ${tenants.join(', ')}`

/** Returns the patient's number and, if `namesTenants`, the tenant, which distinguishes patients of the same name. */
const smallPrint = (patient: FoundPatient, namesTenants: boolean): Html =>
  html`${shortNumber(patient)}${namesTenants && ` · tenant ${patient.tenant ?? ''}`}`

/** Renders the page where the user searches and chooses a patient. Its forms use GET, because a choice changes nothing on the server. */
export const patientPickerPage = ({ form, app, query, text, found, namesTenants }: PatientPickerParts): AuthResponse => {
  const kept = [...query].map(([name, value]) => hidden(name, value))
  return renderPage({
    ...around(form),
    title: 'Choose a patient',
    main: html`
<p><strong>${app}</strong> works with one patient at a time.</p>
<form method="get" action="${form.action}">
${kept}
<label for="find">Name</label>
<input type="search" id="find" name="${PATIENT_SEARCH_PARAMETER}" value="${text}" autocomplete="off">
<button class="other">Search</button>
</form>
<h2>${found.length === 0 ? 'No patients were found' : 'Patients'}</h2>
<form method="get" action="${form.action}">
${kept}
<ul>${found.map(
      (each) =>
        html`<li><button class="other row" name="${CHOSEN_PATIENT_PARAMETER}" value="${patientChoiceOf(each)}">${each.name}
<span>${patientDetails(each)}</span> <span class="quiet">${smallPrint(each, namesTenants)}</span></button></li>`,
    )}</ul>
</form>
<p>${accountLink(form)}</p>
${cancel(form)}`,
  })
}

/** Returns a patient as the parameter `chosen_patient` contains it: `1`, or `tenant/1` with tenancy. */
export const patientChoiceOf = ({ id, tenant }: Pick<FoundPatient, 'id' | 'tenant'>): string =>
  tenant === undefined ? id : `${tenant}/${id}`

export type AccountParts = {
  readonly form: PageForm
  readonly user: User
  readonly apps: readonly { readonly id: string; readonly name: string; readonly scopes: readonly string[] }[]
  readonly logout: string
}

export const accountPage = ({ form, user, apps, logout }: AccountParts): AuthResponse =>
  renderPage({
    ...around(form),
    title: 'Your account',
    main: html`
<p>You are signed in as <strong>${user.name}</strong>.</p>
<form method="post" action="${logout}">${hidden('csrf', form.csrf)}<button class="other">Sign out</button></form>
<h2>${apps.length === 0 ? 'No app has access' : 'Apps with access'}</h2>
${apps.map(
  ({ id, name, scopes }) => html`
<form method="post" action="${form.action}">
${hidden('csrf', form.csrf)}
<h3>${name}</h3>
<ul>${scopes.map((scope) => html`<li>${describeScope(scope)}</li>`)}</ul>
<button class="other" name="withdraw" value="${id}">End access for ${name}</button>
</form>`,
)}`,
  })

export const logoutPage = (form: PageForm): AuthResponse =>
  renderPage({
    ...around(form),
    title: 'Sign out?',
    main: html`<form method="post" action="${form.action}">${hidden('csrf', form.csrf)}<div class="buttons"><button>Sign out</button></div></form>`,
  })

export const loggedOutPage = (login: string, organization: string): AuthResponse =>
  renderPage({ title: 'You are signed out', organization, main: html`<p><a href="${login}">Sign in again</a></p>` })

export const errorPage = (text: string, status: number, headers: Readonly<Record<string, string>> = {}): AuthResponse =>
  renderPage({ title: 'This does not work', status, headers, main: html`<p role="alert">${text}</p>` })
