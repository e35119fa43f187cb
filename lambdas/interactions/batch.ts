/** FHIR batch: entries that succeed or fail each for itself. https://hl7.org/fhir/R4/http.html#transaction */
import { FhirError, outcome } from '../fhir/outcome.ts'
import type { BundleAnswers } from './bundle-answers.ts'
import { type EntryRequest, METHODS, type Perform, withinEntry } from './bundle-entry.ts'
import type { FhirRequest, FhirResponse } from './interaction.ts'
import { inTurn } from './slices.ts'

const AT_ONCE = 32

export const batch =
  ({ run }: Perform) =>
  async (entries: readonly EntryRequest[], request: FhirRequest, answers: BundleAnswers): Promise<void> => {
    const answer = async (entry: EntryRequest): Promise<FhirResponse> => {
      try {
        answers.checkRoom(entry)
        return await run(entry, request)
      } catch (thrown) {
        if (!(thrown instanceof FhirError)) throw thrown
        const { status, issues } = withinEntry(thrown, entry.index)
        return { status, body: outcome(issues) }
      }
    }
    for (const method of METHODS) {
      const queue = entries.filter((entry) => entry.method === method).values()
      const work = () => inTurn(queue, async (entry) => answers.add(entry, await answer(entry)))
      await Promise.all(Array.from({ length: AT_ONCE }, work))
    }
  }
