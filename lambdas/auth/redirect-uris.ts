/** Where browsers are sent back to: only where a client was registered for. https://www.rfc-editor.org/rfc/rfc9700#section-2.1 */

/** What may be registered: https, http on this machine, or a scheme of an app's own, with a dot in it. Nothing that runs, no fragment. */
export function isRedirectUri(uri: string): boolean {
  if (!URL.canParse(uri) || uri.includes('#') || !/^[!-~]+$/.test(uri)) return false
  const { protocol, hostname, username, password } = new URL(uri)
  if (username !== '' || password !== '') return false
  if (protocol === 'https:') return true
  return protocol === 'http:' ? ['localhost', '127.0.0.1', '[::1]'].includes(hostname) : /^[a-z][a-z0-9+-]*\.[a-z0-9.+-]+:$/.test(protocol)
}

/**
 * Compared as text. One that is registered as an address of this machine without a port stands for each port: an app there gets another one
 * each time it starts. https://www.rfc-editor.org/rfc/rfc8252#section-7.3
 */
export const isRegistered = (uri: string, registered: readonly string[]): boolean =>
  isRedirectUri(uri) && (registered.includes(uri) || registered.includes(uri.replace(LOOPBACK_PORT, '$1')))

const LOOPBACK_PORT = /^(http:\/\/(?:127\.0\.0\.1|\[::1\])):\d{1,5}(?=\/|\?|$)/

/** With these parameters; those that are undefined are left out. */
export function withParameters(uri: string, parameters: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(parameters).filter((pair): pair is [string, string] => pair[1] !== undefined)
  return `${uri}${uri.includes('?') ? '&' : '?'}${new URLSearchParams(given)}`
}
