/** Where a server leads to: nowhere that is no address of the web, and from where nobody listens to where somebody may never. */

/** Absolute. undefined: what it leads to is not asked. `from`: the URL it was told by, from which a relative one starts. */
export function resolveSafeLink(link: unknown, from: string): string | undefined {
  const to = typeof link === 'string' ? URL.parse(link, from) : null
  const isSafe = to?.protocol === 'https:' || (to?.protocol === 'http:' && new URL(from).protocol === 'http:')
  return isSafe ? to?.href : undefined
}
