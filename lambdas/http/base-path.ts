/** Converts the path of a URL to a path below the base of the server. */

/** Path of the health, at the root of the origin, where load balancers look for it. */
export const HEALTH_PATH = '/health'

/**
 * Returns the path below the base, beginning with a slash, or undefined if it is outside.
 * Clients look for well-known paths at the root of the origin. These match with or without the base after them:
 * https://www.rfc-editor.org/rfc/rfc8414#section-3.1
 * The health is there too.
 */
export function pathBelowBase(path: string, basePath: string): string | undefined {
  if (path === basePath || path.startsWith(`${basePath}/`)) return path.slice(basePath.length) || '/'
  if (path === HEALTH_PATH) return path
  const [, known, rest] = /^(\/\.well-known\/(?:smart-configuration|openid-configuration|oauth-authorization-server))(.*)$/.exec(path) ?? []
  return rest === '' || rest === basePath ? known : undefined
}
