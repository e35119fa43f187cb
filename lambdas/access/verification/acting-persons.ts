/**
 * Rejects tokens of a Patient or RelatedPerson that no longer acts for its patients. A read that admits a token is cached for five minutes.
 */
import type { PersonReader } from '../user-patients.ts'
import { invalidTokenError } from './token-errors.ts'
import type { VerifiedToken } from './verified-token.ts'

/** How long a read stays cached, in milliseconds. */
const FRESH = 5 * 60 * 1_000
/** Maximum cached reads. Above it the oldest read is dropped; the next request of its user reads again. */
const MAX_READS = 10_000

/** Patients that a person acts for, as read at `at` (milliseconds since 1970). */
type Read = { readonly at: number; readonly patients: readonly string[] | undefined }

type Person = Pick<VerifiedToken, 'tenant' | 'fhirUser' | 'actsFor'>

export class ActingPersons {
  readonly #read: PersonReader
  readonly #reads = new Map<string, Read>()

  constructor(read: PersonReader) {
    this.#read = read
  }

  /**
   * Checks the user of a token. Rejects with FhirError 401 if the person no longer acts for the patients of the token. Returns undefined,
   * without a read, if the user is not a Patient or RelatedPerson, or if a cached read admits the token.
   */
  check(token: Person, now: number): Promise<void> | undefined {
    const { tenant, fhirUser = '', actsFor } = token
    // Checks only a Patient, and a user whose token names patients. A RelatedPerson whose token names none sees no patient data.
    if (actsFor === undefined && !/(?:^|\/)Patient\/[^/]*$/.test(fhirUser)) return undefined
    const cached = this.#reads.get(keyOf(tenant, fhirUser))
    // A cached read that rejects the token is repeated: the person may act for the patients again.
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

/** Whether the read is younger than `FRESH`. A read in the future is not: the clock was set back. */
const isFresh = ({ at }: Read, now: number): boolean => now >= at && now < at + FRESH

/**
 * Whether the person acts for all patients of the token. `patients` is undefined for a Patient of another server, which is admitted without
 * a check.
 */
const stillActs = ({ patients }: Read, actsFor: readonly string[] | undefined): boolean =>
  patients === undefined ? actsFor === undefined : patients.length > 0 && (actsFor ?? []).every((id) => patients.includes(id))
