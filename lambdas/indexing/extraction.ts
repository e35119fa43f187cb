/** What documents are made with: those of another extraction are made again. */
import { EXTRACTOR } from '../search/extract.ts'
import { registryNumber } from '../search/parameters.ts'
import type { Reading } from '../search/reading.ts'

export const extractionOf = (reading: Reading): string => `${EXTRACTOR} ${registryNumber} ${JSON.stringify(reading)}`
