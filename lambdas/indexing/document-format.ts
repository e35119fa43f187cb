/** What documents are made with: those of another extraction are made again. */
import type { DocumentFormat } from '../search/documents/changed-keys.ts'
import { EXTRACTOR_VERSION } from '../search/documents/extract.ts'
import { registryNumber } from '../search/parameters.ts'
import type { SearchContext } from '../search/search-context.ts'

/** Other addresses of this server are left out: whoever gives it another makes nothing anew for it. */
export const documentFormatOf = (reading: SearchContext): string =>
  `${EXTRACTOR_VERSION} ${registryNumber} ${JSON.stringify({ ...reading, otherBases: undefined })}`

/** What an extraction tells of who made it. */
export function parseDocumentFormat(extraction: string): DocumentFormat {
  const [extractor = '', registry = '', ...reading] = extraction.split(' ')
  return { extractor: Number(extractor), registry: Number(registry), reading: JSON.parse(reading.join(' ')) }
}
