/** Collects the responses to the entries of a Bundle. Limits their bytes and their time: above a limit, reads are answered 403. */
import type { InteractionCode } from '../../catalogue/catalogue.ts'
import { type BundleEntry, byteSizeOf, isBundlePage } from '../../fhir/bundle.ts'
import { FhirError, fhirError, operationOutcomeOf } from '../../fhir/outcome.ts'
import type { Clock } from '../../ports/execution/clock.ts'
import type { Awaitable, FhirRequest, FhirResponse, RequestNames, WrittenVersion } from '../interaction.ts'
import { writeBundle } from '../json-chunks.ts'
import { shownCompartmentsOf } from '../resources/shown-entry.ts'
import { type EntryRequest, type EntryRunner, type EntryStartHandler, entryErrorOf, isRead, responseEntry } from './entry.ts'

/** Bytes of the resources in all responses, after which further reads are answered 403 and writes return no resource. */
export const MAX_BUNDLE_RESPONSE_BYTES = 50_000_000
/** Milliseconds since the start of the Bundle, after which its reads are answered 403 instead of started. */
const LONGEST = 20_000

const WRITES: ReadonlySet<InteractionCode> = new Set(['create', 'update', 'patch', 'delete'])

export class EntryResponses {
  readonly #request: FhirRequest
  readonly #clock: Clock
  readonly #began: number
  readonly #entries: BundleEntry[] = []
  readonly #written: (readonly WrittenVersion[])[] = []
  readonly #about = new Set<string>()
  readonly #named: (RequestNames | undefined)[] = []
  #weight = 0
  #retryAfter = 0

  constructor(request: FhirRequest, clock: Clock) {
    this.#request = request
    this.#clock = clock
    this.#began = clock.now()
  }

  /** Throws FhirError 403 for a read if the previous responses exceed the byte limit, or if the Bundle exceeds the time limit. */
  #checkRoom(interaction: InteractionCode): void {
    if (WRITES.has(interaction)) return
    if (this.#weight > MAX_BUNDLE_RESPONSE_BYTES) throw tooHeavy()
    if (this.#clock.now() - this.#began > LONGEST) throw refused(`took ${LONGEST / 1_000} seconds`)
  }

  /** Returns the handler that checks the limits before the entry runs, and stores the names in its request for the audit record. */
  beginning({ index }: EntryRequest): EntryStartHandler {
    return (interaction, named) => {
      this.#checkRoom(interaction)
      this.#named[index] = named
    }
  }

  /**
   * Runs an entry whose error becomes its own response. Reads start before the size of earlier responses is known: a read that finishes
   * above the byte limit is therefore answered 403.
   */
  async runAlone({ run }: EntryRunner, entry: EntryRequest): Promise<void> {
    const answer = await answered(entry, () => run(entry, this.#request, this.beginning(entry)))
    const isLate = isRead(entry) && this.#weight > MAX_BUNDLE_RESPONSE_BYTES
    const added = this.add(entry, isLate ? refusalOf(entry, tooHeavy()) : answer)
    if (added !== undefined) await added
  }

  /**
   * Adds a response. Serializes a page to bytes, because its tree needs more memory. Counts its size before that finishes, since other
   * entries start meanwhile.
   */
  add(entry: EntryRequest, response: FhirResponse): Awaitable<void> {
    const { body } = response
    for (const name of shownCompartmentsOf(response)) if (name.startsWith('Patient/')) this.#about.add(name)
    if (!isBundlePage(body)) return this.#keep(entry, response, body)
    const weight = body.entries.reduce((sum, { resource }) => sum + byteSizeOf(resource), 0)
    this.#weight += weight
    return writeBundle(body).then((pieces) => {
      this.#weight -= weight
      this.#keep(entry, response, pieces)
    })
  }

  #keep(entry: EntryRequest, response: FhirResponse, body: BundleEntry['resource']): void {
    const whole = responseEntry(response, body, entry, this.#request)
    // The write is already committed. So above the byte limit its response only omits the resource.
    const answered = this.#weight > MAX_BUNDLE_RESPONSE_BYTES && !isRead(entry) ? { more: whole.more! } : whole
    this.#entries[entry.index] = answered
    this.#written[entry.index] = response.written ?? []
    this.#retryAfter = Math.max(this.#retryAfter, Number(response.headers?.['retry-after'] ?? 0))
    this.#weight += byteSizeOf(answered.resource)
  }

  /** Patients whose data the responses show, as `Patient/1`, for the audit record. */
  get about(): readonly string[] {
    return [...this.#about]
  }

  /** Names in the requests of the entries, for the audit record. An entry that was rejected before its start has none. */
  get named(): readonly RequestNames[] {
    return this.#named.filter((named) => named !== undefined)
  }

  get entries(): readonly BundleEntry[] {
    return this.#entries
  }

  /** Retry-After with the longest delay of all entries, because an entry has no place for headers. */
  get headers(): Readonly<Record<string, string>> {
    return this.#retryAfter === 0 ? {} : { 'retry-after': String(this.#retryAfter) }
  }

  get written(): readonly WrittenVersion[] {
    return this.#written.flat()
  }
}

async function answered(entry: EntryRequest, run: () => Promise<FhirResponse>): Promise<FhirResponse> {
  try {
    return await run()
  } catch (thrown) {
    if (!(thrown instanceof FhirError)) throw thrown
    return refusalOf(entry, thrown)
  }
}

function refusalOf({ index }: EntryRequest, error: FhirError): FhirResponse {
  const { status, headers, issues } = entryErrorOf(error, index)
  return { status, headers, body: operationOutcomeOf(issues) }
}

const tooHeavy = (): FhirError => refused(`have ${MAX_BUNDLE_RESPONSE_BYTES} bytes`)

const refused = (why: string): FhirError =>
  fhirError(403, 'too-costly', `The answers to the entries before ${why}: ask for the others in a Bundle of their own`)
