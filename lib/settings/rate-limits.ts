/** Limits of requests, of all clients and of one. */
import { MAX_FIREWALL_RATE } from './setting-checks.ts'

export type RateLimits = {
  /** Maximum requests of one address in five minutes. Further requests are answered 429. */
  readonly perAddress: number
  /**
   * Maximum requests with one value of the header Authorization in five minutes, from all addresses. Further requests are answered 429.
   * Only with `access` `token`. Default: none with a search domain of the size `demo`, otherwise half of what `rate` allows. A
   * firewall rule costs $1 a month.
   */
  readonly perToken?: number
  /**
   * Maximum requests of one address without a token in five minutes, where a token is required. Further requests are answered 429. Only
   * with `access` `token`. Default: 6,000 with the setting `publicRead`, none with a search domain of the size `demo`, otherwise 1,000. A
   * firewall rule costs $1 a month.
   */
  readonly withoutToken?: number
  /** Maximum requests per second of all clients. Further requests are answered 429. */
  readonly rate: number
  readonly burst: number
}

/** Seconds in which the firewall counts, halved: one token may use half of what `rate` allows. */
const TOKEN_SECONDS = 150

/** Returns the limits of clients that a stage has by default, unless it is a demo. `rate`: requests per second of all clients. */
export const clientLimitsOf = (rate: number): Pick<RateLimits, 'perToken' | 'withoutToken'> => ({
  perToken: Math.min(TOKEN_SECONDS * rate, MAX_FIREWALL_RATE),
  withoutToken: 1_000,
})

/** Limits of a stage with public read. Its consumers send no token. An address may send 20 requests per second. */
export const PUBLIC_READ_LIMITS: Pick<RateLimits, 'withoutToken'> = { withoutToken: 6_000 }
