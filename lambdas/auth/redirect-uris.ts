/** Where browsers are sent back to: only where a client was registered for. https://www.rfc-editor.org/rfc/rfc9700#section-2.1 */
import { redirectFault } from './redirect-uri.ts'

/**
 * Compared as text. One that is registered as an address of this machine without a port stands for each port: an app there gets another one
 * each time it starts. https://www.rfc-editor.org/rfc/rfc8252#section-7.3
 */
export const isRegistered = (uri: string, registered: readonly string[]): boolean =>
  redirectFault(uri) === undefined && (registered.includes(uri) || registered.includes(uri.replace(LOOPBACK_PORT, '$1')))

const LOOPBACK_PORT = /^(http:\/\/(?:127\.0\.0\.1|\[::1\])):\d{1,5}(?=\/|\?|$)/

/** With these parameters; those that are undefined are left out. */
export function withParameters(uri: string, parameters: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(parameters).filter((pair): pair is [string, string] => pair[1] !== undefined)
  return `${uri}${uri.includes('?') ? '&' : '?'}${new URLSearchParams(given)}`
}
