/** Records every `$member-match` before its response: the client, and the matched member with its grounds, or the reason for no match. */
import { FhirError } from '../../fhir/outcome.ts'
import { type DisclosureOutcome, writeDisclosures } from '../../partners/disclosures/disclosures.ts'
import { unmatchedReasonOf } from '../../partners/match/match-answer.ts'
import type { BlobStore } from '../../ports/blobs/blob-store.ts'
import type { Clock } from '../../ports/execution/clock.ts'
import type { FhirRequest, Interaction } from '../interaction.ts'

export type RecordedMatchPorts = { readonly disclosures: Pick<BlobStore, 'put'>; readonly clock: Clock }

/** `match`: the interaction. Its response names the member in `about`, and the Group and the Consent in `written`. */
export const recordedMatch =
  (match: Interaction, { disclosures, clock }: RecordedMatchPorts): Interaction =>
  async (request) => {
    const record = ({ tenant, client }: FhirRequest, outcome: DisclosureOutcome, patients: readonly string[], grounds: readonly string[]) =>
      writeDisclosures(
        disclosures,
        { kind: 'match', at: clock.now(), tenant, job: clock.newId(), partner: client, grounds },
        patients.length === 0 ? [{ outcome }] : patients.map((patient) => ({ patient, outcome })),
      )
    try {
      const response = await match(request)
      const grounds = (response.written ?? []).map(({ type, id }) => `${type}/${id}`)
      await record(request, 'matched', response.about ?? [], grounds)
      return response
    } catch (error) {
      const reason = error instanceof FhirError ? unmatchedReasonOf(error) : undefined
      if (reason !== undefined) await record(request, reason, [], [])
      throw error
    }
  }
