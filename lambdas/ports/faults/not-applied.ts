/**
 * Some documents could not be indexed for now. All others of the same call are indexed. The error names them, so that the caller can pass
 * them again.
 */
import type { IndexDocument } from '../search/search-index.ts'
import { MachineFault } from './machine-error.ts'

export type DocumentKey = Pick<IndexDocument, 'tenant' | 'type' | 'id' | 'version'>

export class NotApplied extends MachineFault {
  override readonly fault = 'not-applied'
  /** Keys only: code that logs an error must not log resources. */
  readonly documents: readonly DocumentKey[]

  constructor(documents: readonly DocumentKey[], cause: unknown) {
    super(`${documents.length} documents are not indexed yet`, { cause })
    this.documents = documents.map(({ tenant, type, id, version }) => ({ tenant, type, id, version }))
  }
}
