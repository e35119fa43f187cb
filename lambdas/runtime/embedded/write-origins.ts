/** Request ids of the latest writes. The index meets a version after its request, and names that request in the log. */
import type { RequestWriter } from '../../interactions/interaction.ts'
import type { VersionKey } from '../../ports/store/resource-store.ts'

/** The index is hardly ever further behind. */
const MOST = 10_000

export class WriteOrigins {
  /** The oldest first. */
  readonly #requestIds = new Map<string, string>()

  /** Returns a writer that records the request of each committed version. */
  recording(writer: RequestWriter): RequestWriter {
    return {
      commit: async (writes, guards, by) => {
        const result = await writer.commit(writes, guards, by)
        if (result.kind === 'committed')
          for (const { expected, ...key } of writes) this.#record(nameOf({ ...key, versionId: expected + 1 }), by.requestId)
        return result
      },
    }
  }

  /** Returns undefined if the version is not among the latest. */
  requestOf(version: VersionKey): string | undefined {
    return this.#requestIds.get(nameOf(version))
  }

  #record(name: string, requestId: string): void {
    this.#requestIds.set(name, requestId)
    if (this.#requestIds.size > MOST) this.#requestIds.delete(this.#requestIds.keys().next().value!)
  }
}

const nameOf = ({ tenant, type, id, versionId }: VersionKey): string => `${tenant}/${type}/${id}/${versionId}`
