/** Versions that could not be indexed, on their way into the state everybody shares. */
import type { IndexDocument } from '../ports/search-index.ts'
import { afterPoison, type SharedState } from './index-state.ts'

type Found = Pick<IndexDocument, 'tenant' | 'type' | 'id'> & { readonly versionId: number }

export class PoisonList {
  readonly #state: Pick<SharedState, 'change'>
  readonly #found: { readonly version: Found; readonly reason: string }[] = []

  constructor(state: Pick<SharedState, 'change'>) {
    this.#state = state
  }

  /** A version that could not be extracted. */
  readonly addVersion = (version: Found, error: unknown): void => {
    this.#found.push({ version, reason: error instanceof Error ? error.name : typeof error })
  }

  /** A document the index refuses. */
  readonly addDocument = ({ tenant, type, id, version }: IndexDocument, reason: string): void => {
    this.#found.push({ version: { tenant, type, id, versionId: version }, reason })
  }

  async save(): Promise<void> {
    const found = [...this.#found]
    if (found.length === 0) return
    await this.#state.change((state) => found.reduce((now, { version, reason }) => afterPoison(now, version, reason), state))
    this.#found.splice(0, found.length)
  }
}
