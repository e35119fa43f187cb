/**
 * Redirect URIs, to which the server sends a user back with a code. Accepted are https, loopback addresses and private-use schemes of apps.
 * Schemes that make a browser run code or read files are rejected.
 * https://www.rfc-editor.org/rfc/rfc8252#section-7, https://www.rfc-editor.org/rfc/rfc9700#section-4.1.3
 */

const LONGEST = 2_000
const LOOPBACK = new Set(['127.0.0.1', '[::1]', 'localhost'])
/**
 * Private-use scheme of an app: a domain name of its owner in reverse order, such as `com.example.app`.
 * https://www.rfc-editor.org/rfc/rfc8252#section-7.1
 */
const OWN_SCHEME = /^[a-z][a-z0-9+-]*(?:\.[a-z0-9+-]+)+:$/

/**
 * Returns the problem of a redirect URI in a few words, or undefined if it may be registered. URIs are compared as text, so a URI must have
 * the form in which browsers write it.
 */
export function findRedirectUriProblem(uri: string): string | undefined {
  if (uri.length > LONGEST) return `is longer than ${LONGEST} characters`
  if (!/^[!-~]+$/.test(uri) || /["<>\\^`{|}*]/.test(uri)) return 'has characters that URLs do not have'
  if (!URL.canParse(uri)) return 'is no URL with a scheme'
  if (uri.includes('#')) return 'has a fragment'
  const { protocol, hostname, port, username, password } = new URL(uri)
  if (username !== '' || password !== '') return 'has a user or a password'
  if (port === '0') return 'has the port 0'
  if (!uri.startsWith(protocol)) return 'has capitals in its scheme'
  if (OWN_SCHEME.test(protocol)) return undefined
  if (protocol !== 'https:' && protocol !== 'http:') return 'has a scheme that is neither https nor of an app, as com.example.app:/callback'
  if (!uri.startsWith(`${protocol}//${hostname}`)) return `has another host than it seems: ${hostname}`
  return protocol === 'https:' || LOOPBACK.has(hostname) ? undefined : 'is neither https nor on 127.0.0.1, [::1] or localhost'
}

/**
 * Whether the redirect URI is valid and registered for the client. URIs are compared as text. A registered http URI with a loopback IP
 * address and no port matches every port, because an app gets another port at each start.
 * https://www.rfc-editor.org/rfc/rfc8252#section-7.3
 */
// guard: redirect-uri-is-registered
export const isRegisteredRedirectUri = (uri: string, registered: readonly string[]): boolean =>
  findRedirectUriProblem(uri) === undefined && (registered.includes(uri) || registered.includes(uri.replace(LOOPBACK_PORT, '$1')))

const LOOPBACK_PORT = /^(http:\/\/(?:127\.0\.0\.1|\[::1\])):\d{1,5}(?=\/|\?|$)/

/** Returns the URI with these parameters added to its query. Omits undefined parameters. */
export function withParameters(uri: string, parameters: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(parameters).filter((pair): pair is [string, string] => pair[1] !== undefined)
  return `${uri}${uri.includes('?') ? '&' : '?'}${new URLSearchParams(given)}`
}
