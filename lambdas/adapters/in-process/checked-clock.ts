/**
 * The machine's clock, watched: somebody may set it, a battery may be empty, a time server may be wrong. What was stamped in another year
 * stays so, and what is old in another year is swept, so nothing is stamped or swept while the clock cannot be believed.
 *
 * - It is compared with a clock nobody sets. Where the two are more than five minutes apart it has jumped. A machine that slept is no jump:
 *   the time since it was booted goes on meanwhile (on Linux CLOCK_BOOTTIME, through os.uptime, https://docs.libuv.org/en/v1.x/misc.html).
 * - While it has jumped, `now` goes on from before the jump. That ends when the clock is set back to within five minutes of it, or when
 *   who runs the server accepts the clock.
 * - A process that starts has nothing to compare it with but the newest version. A clock behind that is told, and believed: the version may
 *   be what is wrong; when it then jumps to after that version it was set right. More than a year after it is a jump. More than a month
 *   after it nothing is swept, which is told: who was away writes, and the next start has newer versions to go by.
 */
import { randomUUID } from 'node:crypto'
import { uptime } from 'node:os'
import type { Clock } from '../../ports/execution/clock.ts'

/** Milliseconds. `wall`: since 1970. `steady`: never set; may stand while the machine sleeps. `sinceBoot`: never set; goes on meanwhile. */
export type TimeSources = { readonly wall: () => number; readonly steady: () => number; readonly sinceBoot: () => number }

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE
const JUMP = 5 * MINUTE
const LONGEST_AWAY = { writing: 366 * DAY, sweeping: 31 * DAY }

/** Costs less than a microsecond, but `sinceBoot` reads a file. */
const MACHINE: TimeSources = { wall: () => Date.now(), steady: () => performance.now(), sinceBoot: () => uptime() * 1000 }

export class CheckedClock implements Clock {
  readonly #sources: TimeSources
  readonly #tell: (line: string) => void
  /** Of one moment at which the clock was believed. */
  #anchor
  #last = 0
  #hasJumped = false
  #isCompared = false
  /** The newest version at the start, and how long before the start that was. */
  #newest = 0
  #away = 0

  /** `tell`: told what the person who runs the server should know, in one line. */
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

  /** `newest`: the instant of the newest version of a store that is opened, 0 where it has none. */
  compareWith(newest: number): void {
    // Of a store that takes the place of another nothing is to be learnt about a clock that has been watched.
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

  /** Whether stamps of it can be believed. */
  mayStamp(): boolean {
    this.#look()
    return !this.#hasJumped && this.#away <= LONGEST_AWAY.writing
  }

  /** Whether what is old by it may be removed. */
  maySweep(): boolean {
    return this.mayStamp() && this.#away <= LONGEST_AWAY.sweeping
  }

  /** Who runs the server says that the clock is right. */
  accept(): void {
    this.#believe()
    this.#away = 0
    this.#last = this.#anchor.wall
  }

  /** The time, as far as it is known. */
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

  /** It was behind the newest version, and is not any more. */
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
