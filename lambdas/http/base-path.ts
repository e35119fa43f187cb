/** Where a path is below the base of the server. */

/** Beginning with a slash; undefined: it is not. What clients look for at the root of the origin is ours too, with or without the base behind it: https://www.rfc-editor.org/rfc/rfc8414#section-3.1 */
export function pathBelowBase(path: string, basePath: string): string | undefined {
  if (path === basePath || path.startsWith(`${basePath}/`)) return path.slice(basePath.length) || '/'
  const [, known, rest] = /^(\/\.well-known\/(?:smart-configuration|openid-configuration|oauth-authorization-server))(.*)$/.exec(path) ?? []
  return rest === '' || rest === basePath ? known : undefined
}
