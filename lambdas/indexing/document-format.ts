/** Document format as text. Documents of another format are created again. */
import type { DocumentFormat } from '../search/documents/changed-keys.ts'
import { EXTRACTOR_VERSION } from '../search/documents/extract.ts'
import { registryNumber } from '../search/parameters.ts'
import type { SearchContext } from '../search/search-context.ts'

/** Returns the document format of this code. Leaves out additional base URLs, so that adding one requires no rebuild. */
export const documentFormatOf = (reading: SearchContext): string =>
  `${EXTRACTOR_VERSION} ${registryNumber} ${JSON.stringify({ ...reading, otherBases: undefined })}`

/** Parses a document format into extractor, registry and search context. */
export function parseDocumentFormat(extraction: string): DocumentFormat {
  const [extractor = '', registry = '', ...reading] = extraction.split(' ')
  return { extractor: Number(extractor), registry: Number(registry), reading: JSON.parse(reading.join(' ')) }
}
