/** Index documents for tests: what is not named is empty. */
import type { IndexDocument } from '../../lambdas/ports/search/search-index.ts'

export const document = (fields: Partial<IndexDocument> & { readonly id: string }): IndexDocument => ({
  tenant: 'one',
  type: 'Observation',
  version: 1,
  lastUpdated: 1_600_000_000_000,
  deleted: false,
  keys: {},
  spans: {},
  numbers: {},
  points: {},
  tuples: {},
  groups: {},
  order: {},
  present: Object.keys(fields.order ?? {}),
  compartments: [],
  registry: 1,
  body: new Uint8Array(),
  ...fields,
})
