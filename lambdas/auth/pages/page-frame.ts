/** Frame, style sheet and headers of every page. The headers forbid scripts, display inside other sites, and caching. */
import { createHash } from 'node:crypto'
import type { AuthResponse } from '../endpoint.ts'
import { NO_STORE_HEADERS } from '../oauth-error.ts'
import { type Html, html, toHtmlText } from './html.ts'

export type PageContent = {
  readonly title: string
  readonly main: Html
  readonly status?: number
  /** Name of the organization that runs the server. */
  readonly organization?: string
  /** Redirect URI to which a form of the page may lead, besides this server. Absent: forms lead only to this server. */
  readonly leadsTo?: string
  readonly headers?: Readonly<Record<string, string>>
}

const STYLE = `
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #fff; --quiet: #57606a; --line: #8c959f; --act: #0550ae; --bad: #a40e26 }
@media (prefers-color-scheme: dark) { :root { --ink: #f0f3f6; --paper: #15191e; --quiet: #b1bac4; --line: #8b949e; --act: #79b8ff; --bad: #ff9492 } }
* { box-sizing: border-box }
body { margin: 0; background: var(--paper); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere }
main { max-width: 30rem; margin: 0 auto; padding: 1.5rem 1rem 3rem }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 1rem }
h2 { font-size: 1.125rem; margin: 1.5rem 0 .5rem }
p, ul { margin: 0 0 1rem }
ul { list-style: none; padding: 0 }
li { padding: .5rem 0; border-bottom: 1px solid var(--line) }
label { display: block; font-weight: 600 }
label.choice { display: flex; gap: .75rem; font-weight: 400; align-items: start }
input[type=text], input[type=password], input[type=search] { width: 100%; min-height: 2.75rem; margin: .25rem 0 1rem; padding: .5rem .75rem; font: inherit; color: inherit; background: var(--paper); border: 1px solid var(--line); border-radius: .375rem }
input[type=checkbox] { width: 1.25rem; height: 1.25rem; margin: .125rem 0 0; flex: none }
fieldset { border: 0; margin: 0; padding: 0 }
legend { font-weight: 600; padding: 0 }
details { margin: .5rem 0 0 2rem }
summary { cursor: pointer; padding: .25rem 0 }
button { min-height: 2.75rem; padding: .5rem 1rem; font: inherit; font-weight: 600; border-radius: .375rem; border: 2px solid var(--act); background: var(--act); color: var(--paper); cursor: pointer }
button.other { background: var(--paper); color: var(--act) }
button.row { width: 100%; text-align: left }
button.row span { display: block; font-weight: 400 }
button.row .quiet, .organization { font-size: .875rem }
.organization { margin: 0 0 .25rem; font-weight: 600; color: var(--quiet) }
.buttons { display: flex; flex-wrap: wrap; gap: .75rem; margin-top: 1.5rem }
.buttons button { flex: 1 1 8rem }
.quiet { color: var(--quiet) }
.bad { color: var(--bad); font-weight: 600 }
a { color: var(--act) }
:focus-visible { outline: 3px solid var(--act); outline-offset: 2px }
`

const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64')

export function renderPage({ title, main, status = 200, organization, leadsTo, headers = {} }: PageContent): AuthResponse {
  const whole = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}${organization !== undefined && ` - ${organization}`}</title>
<style>${STYLE_AS_IT_IS}</style>
</head>
<body>
<main>
${organization !== undefined && html`<p class="organization">${organization}</p>`}
<h1>${title}</h1>
${main}
</main>
</body>
</html>
`
  return { status, headers: { 'content-type': 'text/html; charset=utf-8', ...guards(leadsTo), ...headers }, body: toHtmlText(whole) }
}

/** Style sheet, the only value that is inserted without escaping. */
const STYLE_AS_IT_IS = html([STYLE] as unknown as TemplateStringsArray)

/**
 * Returns the security headers of a page: https://www.rfc-editor.org/rfc/rfc9700#section-4.16. `leadsTo` is in `form-action`, because
 * browsers also apply it to redirects after a form: https://www.w3.org/TR/CSP3/#directive-form-action
 */
const guards = (leadsTo?: string): Readonly<Record<string, string>> => ({
  ...NO_STORE_HEADERS,
  'content-security-policy': [
    "default-src 'none'",
    `style-src 'sha256-${STYLE_HASH}'`,
    `form-action 'self'${leadsTo === undefined ? '' : ` ${sourceOf(leadsTo)}`}`,
    // guard: login-page-is-not-framed
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; '),
  'x-frame-options': 'DENY',
  'x-content-type-options': 'nosniff',
  // With `no-referrer` browsers would send forms of these pages with the origin `null`.
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
})

/**
 * Returns the CSP source that allows a URI: its origin, or only its scheme for IPv6 addresses and private-use schemes, whose origins CSP
 * cannot express.
 */
function sourceOf(uri: string): string {
  const { protocol, origin, hostname } = new URL(uri)
  return (protocol === 'https:' || protocol === 'http:') && !hostname.startsWith('[') ? origin : protocol
}

/** Redirects with status 303, so that reloading the next page does not send the form again. */
export const seeOther = (location: string, headers: Readonly<Record<string, string>> = {}): AuthResponse => ({
  status: 303,
  headers: { ...NO_STORE_HEADERS, location, 'referrer-policy': 'same-origin', ...headers },
})
