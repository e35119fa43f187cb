/**
 * Passwords of users, kept as scrypt makes them: slow to guess, also for who has the file. https://www.rfc-editor.org/rfc/rfc7914
 *
 * Guarantees
 * - A user that is not there costs as much as one that is.
 * - Two are worked on at once, so many wait; beyond them Overloaded, and nothing was done.
 * - Networks take turns, so that many attempts from one delay another by one turn.
 */
import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto'
import { Overloaded } from '../../ports/faults/overloaded.ts'
import { FairQueue } from './fair-queue.ts'

/** `N`: a power of two. About 130 ms and 64 MB, where RSA takes 1 ms to sign. https://cheatsheetseries.owasp.org/cheatsheets/Password_Storage_Cheat_Sheet.html */
export type ScryptCost = { readonly N: number; readonly r: number; readonly p: number }
export const SCRYPT_COST: ScryptCost = { N: 2 ** 16, r: 8, p: 1 }

/** https://pages.nist.gov/800-63-4/sp800-63b.html#passwordver */
export const PASSWORD_LENGTH = { least: 8, most: 1_000 }

type Derive = (typed: string, salt: Buffer, cost: ScryptCost) => Promise<Buffer>

const AT_ONCE = 2
/** What they take together is what somebody waits for a page: seconds. */
const MOST_WAITING = 60
const [SALT, HASH] = [16, 32]

export class Passwords {
  readonly #cost: ScryptCost
  readonly #derive: Derive
  readonly #waiting = new FairQueue(MOST_WAITING)
  #working = 0

  /** `cost`: of passwords that are set from now on; those that are kept say their own. */
  constructor(cost: ScryptCost = SCRYPT_COST, derive: Derive = deriveByScrypt) {
    this.#cost = cost
    this.#derive = derive
  }

  /** As a user's `password` has it. RangeError where it is too short or too long. */
  async hash(typed: string): Promise<string> {
    if (!isPassword(typed)) throw new RangeError(`A password has ${PASSWORD_LENGTH.least} to ${PASSWORD_LENGTH.most} characters`)
    const salt = randomBytes(SALT)
    const hash = await this.#derived(typed, salt, this.#cost)
    const { N, r, p } = this.#cost
    return ['scrypt', N, r, p, salt.toString('base64url'), hash.toString('base64url')].join('$')
  }

  /** `kept`: undefined if there is no such user; then no password is right. `network`: of the caller. */
  async check(typed: string, kept: string | undefined, network = ''): Promise<boolean> {
    const known = kept === undefined ? undefined : parse(kept)
    const { cost, salt, hash } = known ?? { cost: this.#cost, salt: randomBytes(SALT), hash: Buffer.alloc(HASH) }
    // Beyond it is no password, and as costly as one.
    const derived = await this.#derived(typed.slice(0, PASSWORD_LENGTH.most + 1), salt, cost, network)
    // guard: password-is-compared
    return timingSafeEqual(derived, hash) && known !== undefined
  }

  /** Whether it was kept at a lower cost than is asked for now. */
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
      // Whose turn is next takes this place: nobody can come between.
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

const tooMany = (): Overloaded => new Overloaded('too many passwords are waiting to be checked')

/** By characters as people count them. */
export const isPassword = (typed: string): boolean =>
  [...normalized(typed)].length >= PASSWORD_LENGTH.least && typed.length <= PASSWORD_LENGTH.most

/** Keyboards compose characters differently. https://www.rfc-editor.org/rfc/rfc8265#section-4.2.1 */
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
