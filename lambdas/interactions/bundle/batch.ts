/** FHIR batch: entries that succeed or fail each for itself. https://hl7.org/fhir/R4/http.html#transaction */
import type { BundleAnswers } from './bundle-answers.ts'
import { type EntryRequest, type Perform, phasesOf } from './bundle-entry.ts'
import type { FhirRequest } from './interaction.ts'
import { inSlices } from './slices.ts'

export const batch =
  (perform: Perform) =>
  async (entries: readonly EntryRequest[], _: FhirRequest, answers: BundleAnswers): Promise<void> => {
    for (const phase of phasesOf(entries)) {
      const done = await inSlices(phase, (entry) => answers.runAlone(perform, entry))
      await Promise.all(done)
    }
  }
