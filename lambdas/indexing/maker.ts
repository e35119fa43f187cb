/** What documents are made with: those of another maker are made again. */
import { EXTRACTOR } from '../search/extract.ts'
import { registryNumber } from '../search/parameters.ts'
import type { Reading } from '../search/reading.ts'

export const makerOf = (reading: Reading): string => `${EXTRACTOR} ${registryNumber} ${JSON.stringify(reading)}`
