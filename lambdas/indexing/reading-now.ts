/** How texts are read now that somebody has defined parameters. */
import type { Reading } from '../search/reading.ts'
import { type Definitions, extracted, searched } from './custom-definitions.ts'

const SEARCHING = new WeakMap<Definitions['definitions'], Reading>()

/** For a tenant's searches. The same object for the same definitions, so that what is prepared for it is found again. */
export function readingNow(reading: Reading, definitions: Definitions, tenant: string): Reading {
  if (definitions.definitions.length === 0) return reading
  let now = SEARCHING.get(definitions.definitions)
  if (now === undefined) {
    now = { ...reading, custom: searched(definitions, tenant) }
    SEARCHING.set(definitions.definitions, now)
  }
  return now
}

/** For the documents of all tenants. */
export function readingOfDocuments(reading: Reading, definitions: Definitions): Reading {
  const custom = extracted(definitions)
  return custom.length === 0 ? reading : { ...reading, custom }
}
