/**
 * Clock of the machine with plausibility checks. The clock may be set wrongly, its battery may be empty, or a time server may be wrong. A
 * version retains a wrong timestamp, and a sweep removes data that only seems old. So nothing is stamped or swept while the clock is
 * implausible.
 *
 * - It is compared with a clock that cannot be set. A difference of more than five minutes is a jump. Sleep of the machine is no jump,
 * because the time since boot continues meanwhile (on Linux CLOCK_BOOTTIME, through os.uptime, https://docs.libuv.org/en/v1.x/misc.html).
 * - After a jump, `now` continues from the time before the jump. That ends when the clock is set back to within five minutes of it, or when
 * the operator accepts the clock.
 * - At the start the clock can only be compared with the newest version. If it is behind, that is reported and it is trusted, because the
 * version may be wrong. A later jump past that version counts as a correction.
 * - If the clock is more than a year after the newest version, nothing is stamped until the operator accepts it. If it is more than a month
 * after it, nothing is swept, and this is reported. Writes are accepted then, so the next start finds newer versions.
 */
import { randomUUID } from 'node:crypto'
import { uptime } from 'node:os'
import type { Clock } from '../../ports/execution/clock.ts'

/**
 * Sources in milliseconds. `wall`: since 1970. `steady`: never set, may pause during sleep. `sinceBoot`: never set, continues during sleep.
 */
export type TimeSources = { readonly wall: () => number; readonly steady: () => number; readonly sinceBoot: () => number }

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE
const JUMP = 5 * MINUTE
const LONGEST_AWAY = { writing: 366 * DAY, sweeping: 31 * DAY }

/** Sources of this machine. A call costs less than a microsecond, except `sinceBoot`, which reads a file. */
const MACHINE: TimeSources = { wall: () => Date.now(), steady: () => performance.now(), sinceBoot: () => uptime() * 1000 }

export class CheckedClock implements Clock {
  readonly #sources: TimeSources
  readonly #tell: (line: string) => void
  /** Values of all sources at one moment at which the clock was trusted. Renewed about every minute. */
  #anchor
  #last = 0
  #hasJumped = false
  #isCompared = false
  /**
   * `#newest`: timestamp of the newest version at the start. `#away`: clock minus that timestamp, negative if the clock was behind.
   * Milliseconds.
   */
  #newest = 0
  #away = 0

  /** Creates the clock. `tell`: receives warnings for the operator, one line each. */
  constructor(tell: (line: string) => void = () => undefined, sources: TimeSources = MACHINE) {
    this.#sources = sources
    this.#tell = tell
    this.#anchor = this.#moment()
  }

  now(): number {
    const time = this.#look()
    this.#last = Math.max(this.#last, time)
    return this.#last
  }

  newId(): string {
    return randomUUID()
  }

  /**
   * Compares the clock with a store when it is opened. `newest`: timestamp of its newest version in milliseconds since 1970, 0 if it has
   * none.
   */
  compareWith(newest: number): void {
    // A clock that was compared and is trusted stays trusted when another store replaces the first.
    if (this.#isCompared && this.mayStamp()) return
    this.#isCompared = true
    const now = this.now()
    this.#newest = newest
    this.#away = newest === 0 ? 0 : now - newest
    const [is, was] = [now, newest].map((instant) => new Date(instant).toISOString())
    if (this.#away < -JUMP) this.#tell(`The clock says ${is}, but there is a version of ${was}: one of the two is wrong`)
    if (this.#away > LONGEST_AWAY.sweeping) {
      const then = this.mayStamp() ? UNSWEPT : REFUSED
      this.#tell(`The clock says ${is}, but the newest version is of ${was}: ${then}`)
    }
  }

  /** Whether timestamps of this clock are trusted. If false, writes must be rejected. */
  mayStamp(): boolean {
    this.#look()
    return !this.#hasJumped && this.#away <= LONGEST_AWAY.writing
  }

  /** Whether sweeps may remove data that is old by this clock. Stricter than `mayStamp`. */
  maySweep(): boolean {
    return this.mayStamp() && this.#away <= LONGEST_AWAY.sweeping
  }

  /** Trusts the clock from now on, because the operator confirmed it. `now` may then return an earlier time than before. */
  accept(): void {
    this.#believe()
    this.#away = 0
    this.#last = this.#anchor.wall
  }

  /** Returns the time of the clock if it is trusted, otherwise the time before the jump plus the time since. */
  #look(): number {
    const { wall, steady } = this.#sources
    const passed = steady() - this.#anchor.steady
    if (!this.#hasJumped && isNear(wall(), this.#anchor.wall + passed)) {
      if (passed > MINUTE) this.#believe()
      return wall()
    }
    const expected = this.#anchor.wall + this.#sources.sinceBoot() - this.#anchor.sinceBoot
    if (isNear(wall(), expected) || this.#isSetRight(wall())) {
      this.#believe()
      return wall()
    }
    if (!this.#hasJumped)
      this.#tell(`The clock jumped from ${new Date(expected).toISOString()} to ${new Date(wall()).toISOString()}: ${REFUSED}`)
    this.#hasJumped = true
    return expected
  }

  /** Whether the clock was behind the newest version and has now been set to a plausible time after it. */
  #isSetRight(wall: number): boolean {
    const isRight = this.#away < -JUMP && wall >= this.#newest - JUMP && wall - this.#newest <= LONGEST_AWAY.writing
    if (isRight) this.#away = 0
    return isRight
  }

  #believe(): void {
    this.#anchor = this.#moment()
    this.#hasJumped = false
  }

  #moment(): { readonly wall: number; readonly steady: number; readonly sinceBoot: number } {
    const { wall, steady, sinceBoot } = this.#sources
    return { wall: wall(), steady: steady(), sinceBoot: sinceBoot() }
  }
}

const REFUSED = 'writes are refused and nothing is swept until it is right again, or accepted with `fhir accept-clock`'

const UNSWEPT =
  'nothing is swept until it is accepted with `fhir accept-clock`, or at a start that finds newer versions; where it is wrong, stop the server'

const isNear = (a: number, b: number): boolean => Math.abs(a - b) <= JUMP
