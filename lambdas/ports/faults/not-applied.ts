/** Some documents could not be indexed for now; all others given with them are. They are named, so that they can be given again. */
import type { IndexDocument } from '../search/search-index.ts'
import { MachineFault } from './machine-error.ts'

export type DocumentKey = Pick<IndexDocument, 'tenant' | 'type' | 'id' | 'version'>

export class NotApplied extends MachineFault {
  override readonly fault = 'not-applied'
  /** Their keys: what prints an error must not print resources. */
  readonly documents: readonly DocumentKey[]

  constructor(documents: readonly DocumentKey[], cause: unknown) {
    super(`${documents.length} documents are not indexed yet`, { cause })
    this.documents = documents.map(({ tenant, type, id, version }) => ({ tenant, type, id, version }))
  }
}
