/** Records every `$member-match` before its response: the client, and the matched member with its grounds, or the reason for no match. */
import { FhirError } from '../../fhir/outcome.ts'
import { type DisclosedMember, writeDisclosures } from '../../partners/disclosures/disclosures.ts'
import { brokenRuleOf, unmatchedReasonOf } from '../../partners/match/match-answer.ts'
import type { BlobStore } from '../../ports/blobs/blob-store.ts'
import type { Clock } from '../../ports/execution/clock.ts'
import type { FhirRequest, FhirResponse, Interaction } from '../interaction.ts'

export type RecordedMatchPorts = { readonly disclosures: Pick<BlobStore, 'put'>; readonly clock: Clock }

/** Records a match before it is answered. `patient`: as `Patient/1`. `grounds`: names of the Group and the Consent. */
export type RecordMatch = (patient: string, grounds: readonly string[]) => Promise<void>

/** Match that records itself, because it knows the Group and the Consent before it stores them. */
export type RecordingMatch = (request: FhirRequest, record: RecordMatch) => Promise<FhirResponse>

export const recordedMatch =
  (match: RecordingMatch, { disclosures, clock }: RecordedMatchPorts): Interaction =>
  async (request) => {
    const { tenant, client: partner } = request
    const record = (member: DisclosedMember, grounds: readonly string[]) =>
      writeDisclosures(disclosures, { kind: 'match', at: clock.now(), tenant, job: clock.newId(), partner, grounds }, [member])
    try {
      return await match(request, (patient, grounds) => record({ patient, outcome: 'matched' }, grounds))
    } catch (error) {
      const [reason, rule] = error instanceof FhirError ? [unmatchedReasonOf(error), brokenRuleOf(error)] : []
      if (reason !== undefined) await record({ outcome: reason, ...(rule === undefined ? {} : { rule }) }, [])
      throw error
    }
  }
