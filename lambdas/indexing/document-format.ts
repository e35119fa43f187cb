/** Document format as text: extractor number, registry number and search context. A rebuild creates documents of another format again. */
import type { DocumentFormat } from '../search/documents/changed-keys.ts'
import { EXTRACTOR_VERSION } from '../search/documents/extract.ts'
import { registryNumber } from '../search/parameters.ts'
import type { SearchContext } from '../search/search-context.ts'

/**
 * Returns the document format of this code with the search context. Leaves out additional base URLs, so that adding one does not change it.
 */
export const documentFormatOf = (reading: SearchContext): string =>
  `${EXTRACTOR_VERSION} ${registryNumber} ${JSON.stringify({ ...reading, otherBases: undefined })}`

/** Parses the text of a document format into its extractor number, registry number and search context. */
export function parseDocumentFormat(extraction: string): DocumentFormat {
  const [extractor = '', registry = '', ...reading] = extraction.split(' ')
  return { extractor: Number(extractor), registry: Number(registry), reading: JSON.parse(reading.join(' ')) }
}
