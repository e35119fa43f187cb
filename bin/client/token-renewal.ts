/** An access token that is asked for again before it ends: a load may take longer than one lives. */

/** Milliseconds before its end at which a token is no longer sent; half of its life where that is shorter. */
const EARLY = 60_000

/** `get`: an access token of this server, a JWT. Asked once at a time, and again where it fails. */
export function renewingAuthorizer(get: () => Promise<string>, now: () => number = Date.now) {
  let token: Promise<{ readonly authorization: string }> | undefined
  let until = Number.NEGATIVE_INFINITY
  const ask = async () => {
    const asked = now()
    const text = await get()
    const life = lifeOf(text)
    until = asked + life - Math.min(EARLY, life / 2)
    return { authorization: `Bearer ${text}` }
  }
  return () => {
    if (token === undefined || now() >= until) {
      until = Number.POSITIVE_INFINITY
      token = ask()
      token.catch(() => {
        token = undefined
      })
    }
    return token
  }
}

/** Milliseconds, by what it says of itself: the clock of who issued it may be another. None of what is no JWT: it is asked for each time. */
function lifeOf(token: string): number {
  try {
    const { exp, iat } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
    return Number.isFinite(exp - iat) ? (exp - iat) * 1000 : 0
  } catch {
    return 0
  }
}
