/**
 * Where users may be sent back to with a code: https, a loopback address, or an app's own scheme. Nothing that a browser runs or reads files by.
 * https://www.rfc-editor.org/rfc/rfc8252#section-7, https://www.rfc-editor.org/rfc/rfc9700#section-4.1.3
 */

const LONGEST = 2_000
const LOOPBACK = new Set(['127.0.0.1', '[::1]', 'localhost'])
/** A domain name turned round: nobody else's. https://www.rfc-editor.org/rfc/rfc8252#section-7.1 */
const OWN_SCHEME = /^[a-z][a-z0-9+-]*(?:\.[a-z0-9+-]+)+:$/

/** What is wrong with it, in a few words; undefined: nothing. It is compared as text, so that it has to be written as browsers write it. */
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
 * Compared as text. One that is registered as an address of this machine without a port stands for each port: an app there gets another one
 * each time it starts. https://www.rfc-editor.org/rfc/rfc8252#section-7.3
 */
// guard: redirect-uri-is-registered
export const isRegisteredRedirectUri = (uri: string, registered: readonly string[]): boolean =>
  findRedirectUriProblem(uri) === undefined && (registered.includes(uri) || registered.includes(uri.replace(LOOPBACK_PORT, '$1')))

const LOOPBACK_PORT = /^(http:\/\/(?:127\.0\.0\.1|\[::1\])):\d{1,5}(?=\/|\?|$)/

/** With these parameters; those that are undefined are left out. */
export function withParameters(uri: string, parameters: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(parameters).filter((pair): pair is [string, string] => pair[1] !== undefined)
  return `${uri}${uri.includes('?') ? '&' : '?'}${new URLSearchParams(given)}`
}
