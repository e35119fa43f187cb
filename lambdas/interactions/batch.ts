/** FHIR batch: entries that succeed or fail each for itself. https://hl7.org/fhir/R4/http.html#transaction */
import type { BundleEntry } from '../fhir/bundle.ts'
import { FhirError, outcome } from '../fhir/outcome.ts'
import { type EntryRequest, METHODS, type Perform, responseEntry, withinEntry } from './bundle-entry.ts'
import type { FhirRequest } from './interaction.ts'

const AT_ONCE = 32

export const batch =
  ({ run }: Perform) =>
  async (entries: readonly EntryRequest[], request: FhirRequest): Promise<readonly BundleEntry[]> => {
    const responses: BundleEntry[] = []
    const perform = async (entry: EntryRequest): Promise<void> => {
      responses[entry.index] = await answer(entry)
    }
    const answer = async (entry: EntryRequest): Promise<BundleEntry> => {
      try {
        return responseEntry(await run(entry, request), entry, request)
      } catch (thrown) {
        if (!(thrown instanceof FhirError)) throw thrown
        const { status, issues } = withinEntry(thrown, entry.index)
        return responseEntry({ status, body: outcome(issues) }, entry, request)
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
