/** Some documents could not be indexed for now; all others given with them are. What names them may give them again. */
import type { IndexDocument } from '../../ports/search-index.ts'

export class NotApplied extends Error {
  readonly documents: readonly IndexDocument[]

  constructor(documents: readonly IndexDocument[], cause: unknown) {
    super(`${documents.length} documents are not indexed yet`, { cause })
    this.documents = documents
  }
}
