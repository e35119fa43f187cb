/**
 * Limits the requests of public read, which any machine may send: for each client network, and for all together. Requests with a token have
 * other limits.
 */
import { networkOf } from '../../auth/login/client-network.ts'
import { FhirError } from '../../fhir/outcome.ts'

/** `perAddress`, `total`: requests per second. `burst`: requests that a network may send at once after a pause. */
export type PublicRateLimits = { readonly perAddress: number; readonly burst: number; readonly total: number }

/** Requests that may still be sent. It grows by the rate up to the burst. `at`: milliseconds since 1970 of the last change. */
type Allowance = { left: number; at: number }

const SECOND = 1_000

export class PublicRates {
  readonly #limits: PublicRateLimits
  readonly #now: () => number
  readonly #networks = new Map<string, Allowance>()
  readonly #all: Allowance
  #sweptAt = 0

  constructor(limits: PublicRateLimits, now: () => number) {
    this.#limits = limits
    this.#now = now
    this.#all = { left: limits.total, at: now() }
  }

  /** Number of networks that have sent requests recently. */
  get size(): number {
    return this.#networks.size
  }

  /** Counts a request. Throws FhirError 429 if its network, or all networks together, have sent too many. `address`: undefined if unknown. */
  take(address = ''): void {
    const { perAddress, burst, total } = this.#limits
    const at = this.#now()
    this.#sweep(at)
    const network = networkOf(address)
    const own = this.#networks.get(network) ?? { left: burst, at }
    grow(own, at, perAddress, burst)
    grow(this.#all, at, total, total)
    // guard: public-rate-of-address
    if (own.left < 1) throw tooMany('one address', (1 - own.left) / perAddress)
    // guard: public-rate-in-total
    if (this.#all.left < 1) throw tooMany('all addresses', (1 - this.#all.left) / total)
    own.left--
    this.#all.left--
    this.#networks.set(network, own)
  }

  /** Removes the networks that may send a whole burst again, so that the map stays small. */
  #sweep(at: number): void {
    const { perAddress, burst } = this.#limits
    const refilled = (burst / perAddress) * SECOND
    if (Math.abs(at - this.#sweptAt) < refilled) return
    this.#sweptAt = at
    for (const [network, allowance] of this.#networks) if (at - allowance.at >= refilled) this.#networks.delete(network)
  }
}

/** Adds the requests that accrued since the last change. A clock that was set back adds none. */
function grow(allowance: Allowance, at: number, rate: number, most: number): void {
  allowance.left = Math.min(most, allowance.left + (Math.max(0, at - allowance.at) / SECOND) * rate)
  allowance.at = at
}

/** `wait`: seconds until the next request is allowed. */
const tooMany = (origin: string, wait: number): FhirError =>
  new FhirError(
    429,
    [{ severity: 'error', code: 'throttled', text: `Too many requests without a token from ${origin}. Try again later` }],
    {
      'retry-after': String(Math.max(1, Math.ceil(wait))),
    },
  )
