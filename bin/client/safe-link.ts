/** Checks the links that a server returns. Only http and https are followed, and never from https to http. */

/**
 * Returns the link as an absolute URL, or undefined if it must not be followed. `from`: URL of the response with the link, the base of
 * relative links.
 */
export function resolveSafeLink(link: unknown, from: string): string | undefined {
  const to = typeof link === 'string' ? URL.parse(link, from) : null
  const isSafe = to?.protocol === 'https:' || (to?.protocol === 'http:' && new URL(from).protocol === 'http:')
  return isSafe ? to?.href : undefined
}
