/** FHIR batch: entries that succeed or fail each for itself. https://hl7.org/fhir/R4/http.html#transaction */
import type { FhirRequest } from '../interaction.ts'
import { inSlices } from '../time-slices.ts'
import { type EntryRequest, type Perform, phasesOf } from './entry.ts'
import type { BundleAnswers } from './entry-responses.ts'

export const batch =
  (perform: Perform) =>
  async (entries: readonly EntryRequest[], _: FhirRequest, answers: BundleAnswers): Promise<void> => {
    for (const phase of phasesOf(entries)) {
      const done = await inSlices(phase, (entry) => answers.runAlone(perform, entry))
      await Promise.all(done)
    }
  }
