/** Tracks how far the index has followed the change feed for each tenant, and how fast. It reads no clock: times are parameters. */
import { FEED_START, type FeedPositions, positionOf } from '../../../indexing/feed/lines.ts'
import { CatchUpRate } from './catch-up-rate.ts'

export class IndexProgress {
  #positions = FEED_START
  readonly #shared = new CatchUpRate()
  /** Rates of the tenants that the index follows separately from the others. */
  readonly #apart = new Map<string, CatchUpRate>()
  readonly #acknowledged: (tenant?: string) => number

  /** `acknowledged`: returns the position of the last acknowledged write, of one tenant or of all. */
  constructor(acknowledged: (tenant?: string) => number) {
    this.#acknowledged = acknowledged
  }

  /** Records the positions that the index reports. `now`: milliseconds. Returns true if one of them has advanced. */
  cameTo(positions: FeedPositions, now: number): boolean {
    const before = this.#positions
    this.#positions = positions
    const { all, apart } = positions
    this.#shared.cameTo(all, now, all >= this.#acknowledged())
    for (const tenant of this.#apart.keys()) if (!apart.has(tenant)) this.#apart.delete(tenant)
    for (const [tenant, position] of apart) this.#paceOf(tenant).cameTo(position, now, position >= this.#acknowledged(tenant))
    return all > before.all || [...apart].some(([tenant, position]) => position > positionOf(before, tenant))
  }

  #paceOf(tenant: string): CatchUpRate {
    const pace = this.#apart.get(tenant) ?? new CatchUpRate()
    this.#apart.set(tenant, pace)
    return pace
  }

  /** Returns the position up to which the versions of the tenant are indexed. Without a tenant: the versions of all tenants. */
  positionOf(tenant?: string): number {
    return positionOf(this.#positions, tenant)
  }

  /**
   * Returns the number of positions from the index to the last acknowledged write of the tenant, or of all tenants. Positions of other
   * tenants count too.
   */
  lag(tenant?: string): number {
    return Math.max(0, this.#acknowledged(tenant) - this.positionOf(tenant))
  }

  /** Returns the seconds until the index reaches a position, rounded up and within the limits of CatchUpRate. */
  secondsTo(position: number, tenant: string | undefined): number {
    return this.#paceFor(tenant).secondsTo(position)
  }

  /**
   * Returns the seconds until all acknowledged writes are indexed, rounded up. Returns 0 if they are. While the rate is unknown or the index
   * makes no progress, returns the estimate of `secondsTo`.
   */
  secondsBehind(now: number): number {
    const { all, apart } = this.#positions
    const lines: readonly (readonly [string | undefined, number])[] = [[undefined, all], ...apart]
    return Math.max(
      ...lines.map(([tenant, position]) => {
        const last = this.#acknowledged(tenant)
        const rate = this.#paceFor(tenant)
        return position >= last ? 0 : Math.max(rate.secondsTo(last), Math.ceil(rate.msTo(last, now) / 1_000))
      }),
    )
  }

  /**
   * Returns the milliseconds until the acknowledged writes that precede the tenant's next write are indexed. For a separately followed
   * tenant these are its own writes, otherwise those of all tenants. Returns 0 if that is unknown, or if the index makes no progress.
   */
  delay(tenant: string, now: number): number {
    return this.#paceFor(tenant).msTo(this.#acknowledged(this.isApart(tenant) ? tenant : undefined), now)
  }

  /** Whether the index follows the tenant separately from the others, at its own pace. */
  isApart(tenant: string): boolean {
    return this.#positions.apart.has(tenant)
  }

  #paceFor(tenant: string | undefined): CatchUpRate {
    return (tenant === undefined ? undefined : this.#apart.get(tenant)) ?? this.#shared
  }
}
