/** Rejects tokens of persons that no longer act for their patients. A read that admits a token is cached for five minutes. */
import type { PersonReader } from '../user-patients.ts'
import { invalidTokenError } from './token-errors.ts'
import type { VerifiedToken } from './verified-token.ts'

/** How long a read stays cached, in milliseconds. */
const FRESH = 5 * 60 * 1_000
/** Maximum cached reads. Above it the oldest is dropped, and read again when needed. */
const MAX_READS = 10_000

/** Result of a read. `at`: milliseconds since 1970. */
type Read = { readonly at: number; readonly patients: readonly string[] | undefined }

type Person = Pick<VerifiedToken, 'tenant' | 'fhirUser' | 'actsFor'>

export class ActingPersons {
  readonly #read: PersonReader
  readonly #reads = new Map<string, Read>()

  constructor(read: PersonReader) {
    this.#read = read
  }

  /**
   * Throws FhirError 401 if the person no longer acts for the patients of the token. Returns undefined without a read if the token is not
   * of a person, or if a cached read admits it.
   */
  check(token: Person, now: number): Promise<void> | undefined {
    const { tenant, fhirUser = '', actsFor } = token
    // A RelatedPerson without patients in the token sees no data, so it needs no check.
    if (actsFor === undefined && !/(?:^|\/)Patient\/[^/]*$/.test(fhirUser)) return undefined
    const cached = this.#reads.get(keyOf(tenant, fhirUser))
    // Repeats a read that rejects the token: the person may act for the patients again.
    if (cached !== undefined && isFresh(cached, now) && stillActs(cached, actsFor)) return undefined
    return this.#checkAgain(tenant, fhirUser, actsFor, now)
  }

  async #checkAgain(tenant: string, fhirUser: string, actsFor: Person['actsFor'], at: number): Promise<void> {
    const read = { at, patients: await this.#read(fhirUser, tenant) }
    const key = keyOf(tenant, fhirUser)
    this.#reads.delete(key)
    this.#reads.set(key, read)
    for (const [first] of this.#reads) {
      if (this.#reads.size <= MAX_READS) break
      this.#reads.delete(first)
    }
    // guard: token-person-still-acts
    if (!stillActs(read, actsFor)) throw invalidTokenError('The user of the token no longer acts for the patient: log in again')
  }
}

const keyOf = (tenant: string, fhirUser: string): string => `${tenant} ${fhirUser}`

/** Whether the read is recent. A read in the future is not: the clock was set back. */
const isFresh = ({ at }: Read, now: number): boolean => now >= at && now < at + FRESH

/** Whether the person acts for the patients of the token. A Patient of another server has no list (undefined). */
const stillActs = ({ patients }: Read, actsFor: readonly string[] | undefined): boolean =>
  patients === undefined ? actsFor === undefined : patients.length > 0 && (actsFor ?? []).every((id) => patients.includes(id))
