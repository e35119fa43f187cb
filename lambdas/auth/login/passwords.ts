/**
 * Passwords of users, hashed with scrypt. They are slow to guess, even with a copy of the stored hashes.
 * https://www.rfc-editor.org/rfc/rfc7914
 *
 * Guarantees
 * - A check for an unknown user takes as long as one for a registered user whose hash has the current cost.
 * - Two passwords are hashed at once, and at most `MOST_WAITING` calls wait. Of more calls, the last one of the network with most waiting
 *   calls throws the fault `overloaded` and changes nothing.
 * - Networks take turns, so attempts from one network delay another network by one turn only.
 */
import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto'
import { MachineFault } from '../../ports/faults.ts'
import { FairQueue } from './fair-queue.ts'

/**
 * Cost of scrypt. `N`: a power of two. The default takes about 130 ms and 64 MB; an RSA signature takes 1 ms.
 * https://cheatsheetseries.owasp.org/cheatsheets/Password_Storage_Cheat_Sheet.html
 */
export type ScryptCost = { readonly N: number; readonly r: number; readonly p: number }
export const SCRYPT_COST: ScryptCost = { N: 2 ** 16, r: 8, p: 1 }

/**
 * Minimum and maximum characters of a password; `isPassword` counts them. Other passwords are rejected.
 * https://pages.nist.gov/800-63-4/sp800-63b.html#passwordver
 */
export const PASSWORD_LENGTH = { least: 8, most: 1_000 }

type Derive = (typed: string, salt: Buffer, cost: ScryptCost) => Promise<Buffer>

const AT_ONCE = 2
/** Maximum waiting calls; further ones are answered 503. Hashing them takes about four seconds, which a user waits for a page. */
const MOST_WAITING = 60
const [SALT, HASH] = [16, 32]

export class Passwords {
  readonly #cost: ScryptCost
  readonly #derive: Derive
  readonly #waiting = new FairQueue(MOST_WAITING)
  #working = 0

  /** `cost`: cost of new hashes. A check uses the cost that is stored with the hash. */
  constructor(cost: ScryptCost = SCRYPT_COST, derive: Derive = deriveByScrypt) {
    this.#cost = cost
    this.#derive = derive
  }

  /**
   * Returns a new hash in the format of `User.password`. Throws RangeError if the password is too short or too long, and the fault
   * `overloaded` if too many calls wait.
   */
  async hash(typed: string): Promise<string> {
    if (!isPassword(typed)) throw new RangeError(`A password has ${PASSWORD_LENGTH.least} to ${PASSWORD_LENGTH.most} characters`)
    const salt = randomBytes(SALT)
    const hash = await this.#derived(typed, salt, this.#cost)
    const { N, r, p } = this.#cost
    return ['scrypt', N, r, p, salt.toString('base64url'), hash.toString('base64url')].join('$')
  }

  /**
   * Whether `typed` is the password. `kept`: stored hash; undefined for an unknown user: the result is false. `network`: network of the
   * client, for the turns. Throws the fault `overloaded` if too many calls wait.
   */
  async check(typed: string, kept: string | undefined, network = ''): Promise<boolean> {
    const known = kept === undefined ? undefined : parse(kept)
    const { cost, salt, hash } = known ?? { cost: this.#cost, salt: randomBytes(SALT), hash: Buffer.alloc(HASH) }
    // A longer text is never a password. One character above the maximum is retained, so that the shortened text is none either.
    const derived = await this.#derived(typed.slice(0, PASSWORD_LENGTH.most + 1), salt, cost, network)
    // guard: password-is-compared
    return timingSafeEqual(derived, hash) && known !== undefined
  }

  /** Whether the stored hash has a lower cost than new hashes, or is unreadable. */
  isOutdated(kept: string): boolean {
    const { N, r, p } = this.#cost
    const cost = parse(kept)?.cost
    return cost === undefined || cost.N * cost.r * cost.p < N * r * p
  }

  async #derived(typed: string, salt: Buffer, cost: ScryptCost, network = ''): Promise<Buffer> {
    await this.#turn(network)
    try {
      return await this.#derive(normalized(typed), salt, cost)
    } finally {
      // Let the next waiter run without lowering `#working`, so that no new call takes its slot.
      const next = this.#waiting.next()
      if (next === undefined) this.#working--
      else next.run()
    }
  }

  async #turn(network: string): Promise<void> {
    if (this.#working < AT_ONCE) {
      this.#working++
      return
    }
    await new Promise<void>((run, reject) => {
      const refused = this.#waiting.add(network, { run, refuse: () => reject(tooMany()) })
      refused?.refuse()
    })
  }
}

const tooMany = (): MachineFault => new MachineFault('overloaded', 'too many passwords are waiting to be checked')

/**
 * Whether a password may have this length. The minimum counts code points after normalization; the maximum counts UTF-16 code units of the
 * typed text.
 */
export const isPassword = (typed: string): boolean =>
  [...normalized(typed)].length >= PASSWORD_LENGTH.least && typed.length <= PASSWORD_LENGTH.most

/**
 * Normalizes a password to NFC, because keyboards encode the same character differently.
 * https://www.rfc-editor.org/rfc/rfc8265#section-4.2.1
 */
const normalized = (typed: string): string => typed.normalize('NFC')

const deriveByScrypt: Derive = (typed, salt, { N, r, p }) => {
  const options: ScryptOptions = { N, r, p, maxmem: 256 * N * r }
  return new Promise((resolve, reject) =>
    scrypt(typed, salt, HASH, options, (error, derived) => (error === null ? resolve(derived) : reject(error))),
  )
}

type Parsed = { readonly cost: ScryptCost; readonly salt: Buffer; readonly hash: Buffer }

function parse(kept: string): Parsed | undefined {
  const [, N, r, p, salt = '', hash = ''] = /^scrypt\$(\d+)\$(\d+)\$(\d+)\$([\w-]+)\$([\w-]{43})$/.exec(kept) ?? []
  if (N === undefined) return undefined
  const cost = { N: Number(N), r: Number(r), p: Number(p) }
  return { cost, salt: Buffer.from(salt, 'base64url'), hash: Buffer.from(hash, 'base64url') }
}
