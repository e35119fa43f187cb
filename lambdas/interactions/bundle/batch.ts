/** FHIR batch: each entry succeeds or fails independently. https://hl7.org/fhir/R4/http.html#transaction */
import type { FhirRequest } from '../interaction.ts'
import { mapInSlices } from '../time-slices.ts'
import { type EntryRequest, type EntryRunner, phasesOf } from './entry.ts'
import type { EntryResponses } from './entry-responses.ts'

export const batch =
  (perform: EntryRunner) =>
  async (entries: readonly EntryRequest[], _: FhirRequest, answers: EntryResponses): Promise<void> => {
    for (const phase of phasesOf(entries)) {
      const done = await mapInSlices(phase, (entry) => answers.runAlone(perform, entry))
      await Promise.all(done)
    }
  }
