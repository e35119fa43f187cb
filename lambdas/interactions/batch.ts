/** FHIR batch: entries that succeed or fail each for itself. https://hl7.org/fhir/R4/http.html#transaction */
import { FhirError, outcome } from '../fhir/outcome.ts'
import { type EntryRequest, METHODS, type Perform, withinEntry } from './bundle-entry.ts'
import type { FhirRequest, FhirResponse } from './interaction.ts'

const AT_ONCE = 32

export const batch =
  ({ run }: Perform) =>
  async (entries: readonly EntryRequest[], request: FhirRequest): Promise<readonly FhirResponse[]> => {
    const responses: FhirResponse[] = []
    const perform = async (entry: EntryRequest): Promise<void> => {
      responses[entry.index] = await answer(entry)
    }
    const answer = async (entry: EntryRequest): Promise<FhirResponse> => {
      try {
        return await run(entry, request)
      } catch (thrown) {
        if (!(thrown instanceof FhirError)) throw thrown
        const { status, issues } = withinEntry(thrown, entry.index)
        return { status, body: outcome(issues) }
      }
    }
    for (const method of METHODS)
      await inParallel(
        entries.filter((entry) => entry.method === method),
        perform,
      )
    return responses
  }

async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const queue = items.values()
  await Promise.all(
    Array.from({ length: Math.min(AT_ONCE, items.length) }, async () => {
      for (const item of queue) await work(item)
    }),
  )
}
