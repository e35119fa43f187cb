/**
 * `GET /health`: whether the server can do its work, for load balancers and monitors. It requires no token, so the response contains
 * only readiness and index lag. All callers share one check, so that they cannot load the stores.
 */
import type { AuthRequest, AuthResponse } from '../auth/endpoint.ts'
import type { IndexHealth } from '../ports/search/index-status.ts'

export type HealthParts = {
  /** Reads the store, and returns the health of the search index. Throws if a store does not respond. */
  readonly check: () => Promise<IndexHealth>
  /** Whether the server accepts requests. False while it stops or replaces its stores. Absent: always. */
  readonly isOpen?: () => boolean
  /** Returns milliseconds since 1970. */
  readonly now: () => number
  /** Receives the error of a failed check. */
  readonly report: (error: unknown, requestId: string) => void
}

/** Milliseconds between the starts of two checks. */
const INTERVAL = 10_000

/** Returns the endpoint. It answers 200 if the server is ready, otherwise 503. `lag` is null if the check failed or did not run. */
export function healthEndpoint({ check, isOpen = () => true, now, report }: HealthParts) {
  let last: { readonly at: number; readonly health: Promise<IndexHealth | undefined> } | undefined
  const runCheck = async (requestId: string): Promise<IndexHealth | undefined> => {
    try {
      return await check()
    } catch (error) {
      report(error, requestId)
      return undefined
    }
  }
  return async ({ requestId }: Pick<AuthRequest, 'requestId'>): Promise<AuthResponse> => {
    if (!isOpen()) return responseOf(undefined, requestId)
    const at = now()
    // The clock may go back.
    if (last === undefined || at < last.at || at >= last.at + INTERVAL) last = { at, health: runCheck(requestId) }
    return responseOf(await last.health, requestId)
  }
}

const responseOf = (health: IndexHealth | undefined, requestId: string): AuthResponse => ({
  status: health?.isWorking === true ? 200 : 503,
  headers: { 'content-type': 'application/json', 'cache-control': 'no-store', 'x-request-id': requestId },
  body: JSON.stringify({ ready: health?.isWorking === true, lag: health?.lag ?? null }),
})
