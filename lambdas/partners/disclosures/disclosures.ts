/**
 * Records of disclosures: the data of members that partners received. Each match, each export and each token for a member has a blob. It has
 * one line for the request and one for each member, and no content of resources.
 */
import type { BlobStore } from '../../ports/blobs/blob-store.ts'
import type { BrokenRule, Unmatched } from '../outcomes.ts'

/** Outcome for one member. Any other text is the reason why an export omits the member. */
export type DisclosureOutcome = 'matched' | 'exported' | 'opened' | Unmatched | (string & {})

/**
 * Match or export of a partner, or its token that opens the data of a member. `at`: instant of the match or of the token, or the transaction
 * time of the export, in milliseconds since 1970. `job`: id of the job, or of the record. `partner`: id of its client. `grounds`: Group that
 * was exported or that contains the member of a token, or Group and Consent of the match. `windowStart`: start of the time window of an
 * export or a token; absent: it had none.
 */
export type PartnerRequest = {
  readonly kind: 'match' | 'export' | 'token'
  readonly at: number
  readonly tenant: string
  readonly job: string
  readonly partner: string
  readonly grounds: readonly string[]
  readonly windowStart?: number
  /** Only exports: the type, the requested period, and the number of resources of each type in all files. */
  readonly exportType?: string
  readonly since?: number
  readonly until?: number
  readonly types?: Readonly<Record<string, number>>
}

/**
 * `patient`: as `Patient/1`. Absent if no member was found. `rule`: rule that the sent Consent or attestation breaks. `grounds`: if absent,
 * those of the request.
 */
export type DisclosedMember = {
  readonly patient?: string
  readonly outcome: DisclosureOutcome
  readonly rule?: BrokenRule
  readonly grounds?: readonly string[]
}

/** Outcome of a request for one member, with the facts of the request. */
export type Disclosure = PartnerRequest & Omit<DisclosedMember, 'grounds'>

/** Start of the keys of all records. */
export const DISCLOSURES_PREFIX = 'disclosures/'

const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10)
const timeOf = (at: number): string => new Date(at).toISOString().slice(11).replace(/\D/g, '')

/** Returns the key of a record. The time precedes the job, so that the store lists the records in order of time. */
const keyOf = ({ tenant, at, job }: Pick<PartnerRequest, 'tenant' | 'at' | 'job'>): string =>
  `${DISCLOSURES_PREFIX}${tenant}/${dayOf(at)}/${timeOf(at)}-${job}.ndjson`

/** Stores the record of a request. A repetition replaces it. */
export async function writeDisclosures(
  blobs: Pick<BlobStore, 'put'>,
  request: PartnerRequest,
  members: readonly DisclosedMember[],
): Promise<void> {
  const text = [request, ...members].map((line) => `${JSON.stringify(line)}\n`).join('')
  await blobs.put(keyOf(request), { bytes: new TextEncoder().encode(text), contentType: 'application/x-ndjson' })
}

/**
 * Filter of disclosures. All given properties must match. `patient`: id. `from`: inclusive, `to`: exclusive, both in milliseconds since
 * 1970.
 */
export type DisclosureFilter = {
  readonly tenant?: string
  readonly patient?: string
  readonly partner?: string
  readonly job?: string
  readonly from?: number
  readonly to?: number
}

/** Yields the disclosures that pass the filter, by tenant and time. */
export async function* readDisclosures(
  blobs: Pick<BlobStore, 'list' | 'get'>,
  { tenant, patient, partner, job, from = Number.NEGATIVE_INFINITY, to = Number.POSITIVE_INFINITY }: DisclosureFilter,
): AsyncGenerator<Disclosure> {
  const named = patient === undefined ? undefined : `Patient/${patient}`
  for await (const { key } of blobs.list(tenant === undefined ? DISCLOSURES_PREFIX : `${DISCLOSURES_PREFIX}${tenant}/`)) {
    const file = fileOf(key)
    if (file === undefined || Date.parse(file.day) >= to || Date.parse(file.day) + DAY <= from) continue
    if (job !== undefined && file.job !== job) continue
    const blob = await blobs.get(key)
    if (blob === undefined) continue
    const [first, ...members] = new TextDecoder().decode(blob.bytes).trimEnd().split('\n')
    const request = JSON.parse(first!) as PartnerRequest
    if (request.at < from || request.at >= to || (partner !== undefined && request.partner !== partner)) continue
    for (const line of members) {
      const member = JSON.parse(line) as DisclosedMember
      if (named === undefined || member.patient === named) yield { ...request, ...member }
    }
  }
}

const DAY = 24 * 60 * 60 * 1_000

/** Keys of an earlier release contain no time. */
function fileOf(key: string): { readonly day: string; readonly job: string } | undefined {
  const [, day, job] = /^[^/]+\/[^/]+\/(\d{4}-\d{2}-\d{2})\/(?:\d{9}-)?([^/]+)\.ndjson$/.exec(key) ?? []
  return day === undefined ? undefined : { day, job: job! }
}

/** Removes the records from before the day of an instant in milliseconds since 1970. */
export async function removeDisclosuresBefore(blobs: Pick<BlobStore, 'list' | 'remove'>, instant: number): Promise<void> {
  const oldest = dayOf(Math.max(0, instant))
  for await (const { key } of blobs.list(DISCLOSURES_PREFIX)) if ((fileOf(key)?.day ?? oldest) < oldest) await blobs.remove(key)
}
