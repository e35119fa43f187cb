/**
 * Request ids of the latest writes. The index processes a version after its request has ended, and logs a failure with the id of that
 * request.
 */
import type { RequestWriter } from '../../interactions/interaction.ts'
import type { VersionKey } from '../../ports/store/resource-store.ts'

/** Maximum versions whose request ids are in memory. The oldest are dropped. The index rarely lags that far behind. */
const MOST = 10_000

export class WriteOrigins {
  /** Request ids by version, the oldest version first. */
  readonly #requestIds = new Map<string, string>()

  /** Returns a writer that records the request id of each committed version. */
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

  /** Returns the id of the request that wrote the version, or undefined if the version is not among the latest. */
  requestOf(version: VersionKey): string | undefined {
    return this.#requestIds.get(nameOf(version))
  }

  #record(name: string, requestId: string): void {
    this.#requestIds.set(name, requestId)
    if (this.#requestIds.size > MOST) this.#requestIds.delete(this.#requestIds.keys().next().value!)
  }
}

const nameOf = ({ tenant, type, id, versionId }: VersionKey): string => `${tenant}/${type}/${id}/${versionId}`
