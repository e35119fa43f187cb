/** An access token that is asked for again before it ends: a load may take longer than one lives. */
import type { Authorize } from './post.ts'

/** Milliseconds before its end at which a token is no longer sent. */
const EARLY = 60_000

/** `get`: an access token of this server, a JWT. Asked once at a time, and again where it fails. */
export function renewed(get: () => Promise<string>, now: () => number = Date.now): Authorize {
  let token: ReturnType<Authorize> | undefined
  let until = Number.NEGATIVE_INFINITY
  const ask: Authorize = async () => {
    const text = await get()
    until = endOf(text) - EARLY
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

/** Milliseconds since 1970; of what is no JWT: it is asked for each time. */
function endOf(token: string): number {
  try {
    const { exp } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
    return typeof exp === 'number' ? exp * 1000 : Number.NEGATIVE_INFINITY
  } catch {
    return Number.NEGATIVE_INFINITY
  }
}
