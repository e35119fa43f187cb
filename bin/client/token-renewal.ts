/** Renews an access token before it expires, because a load may take longer than a token is valid. */

/** Milliseconds before expiry at which a token is renewed; at half its lifetime if that is later. */
const EARLY = 60_000

/**
 * Creates an authorizer that caches the token of `get`, a JWT, until its renewal. Concurrent requests share one call of `get`. If the call
 * fails, the next request calls `get` again.
 */
export function renewingAuthorizer(get: () => Promise<string>, now: () => number = Date.now) {
  let token: Promise<{ readonly authorization: string }> | undefined
  let until = Number.NEGATIVE_INFINITY
  const renew = async () => {
    const requestedAt = now()
    const text = await get()
    const life = lifeOf(text)
    until = requestedAt + life - Math.min(EARLY, life / 2)
    return { authorization: `Bearer ${text}` }
  }
  return () => {
    if (token === undefined || now() >= until) {
      until = Number.POSITIVE_INFINITY
      token = renew()
      token.catch(() => {
        token = undefined
      })
    }
    return token
  }
}

/**
 * Returns the lifetime in milliseconds from the claims of the token, because the clock of the issuer may differ. Returns 0 for a token that
 * is not a JWT, so that every request renews it.
 */
function lifeOf(token: string): number {
  try {
    const { exp, iat } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
    return Number.isFinite(exp - iat) ? (exp - iat) * 1000 : 0
  } catch {
    return 0
  }
}
