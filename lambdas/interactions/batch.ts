/** FHIR batch: entries that succeed or fail each for itself. https://hl7.org/fhir/R4/http.html#transaction */
import type { BundleAnswers } from './bundle-answers.ts'
import { type EntryRequest, METHODS, type Perform } from './bundle-entry.ts'
import type { FhirRequest } from './interaction.ts'
import { inTurn } from './slices.ts'

const AT_ONCE = 32

export const batch =
  (perform: Perform) =>
  async (entries: readonly EntryRequest[], _: FhirRequest, answers: BundleAnswers): Promise<void> => {
    for (const method of METHODS) {
      const queue = entries.filter((entry) => entry.method === method).values()
      const work = () => inTurn(queue, (entry) => answers.runAlone(perform, entry))
      await Promise.all(Array.from({ length: AT_ONCE }, work))
    }
  }
