/** The document format: inputs that change documents, and inputs that may change without a rebuild. */
import { expect, it } from '@jest/globals'
import { documentFormatOf } from '../../lambdas/indexing/document-format.ts'
import { extract } from '../../lambdas/search/documents/extract.ts'
import { parseSearch } from '../../lambdas/search/query/query.ts'
import { observation } from '../fixtures/resources.ts'
import { resourceKeyOf, versionOf, writeOf } from '../fixtures/versions.ts'

const API = 'https://api.example/fhir'
const NAMED = 'https://fhir.example.org/fhir'

it('the document format depends on the first base URL and the time zone only', () => {
  const extraction = documentFormatOf({ baseUrl: API })
  expect(documentFormatOf({ baseUrl: API, otherBases: [NAMED] })).toBe(extraction)
  expect(documentFormatOf({ baseUrl: API, otherBases: [] })).toBe(extraction)
  expect(documentFormatOf({ baseUrl: NAMED, otherBases: [API] })).not.toBe(extraction)
  expect(documentFormatOf({ baseUrl: API, otherBases: [NAMED], timeZone: 'Europe/Berlin' })).not.toBe(extraction)
})

it('a reference is found by any base URL of the server and without one', () => {
  const reading = { baseUrl: API, otherBases: [NAMED], allReferences: true }
  const keysOf = (reference: string) => {
    const body = observation('o', { subject: reference })
    return extract(versionOf(writeOf(resourceKeyOf('t', 'Observation', 'o'), { body })), body, reading).keys
  }
  const whereOf = (value: string) => parseSearch('Observation', [['subject', value]], { now: 0, ...reading }).where
  for (const base of [API, NAMED]) {
    expect(keysOf(`${base}/Patient/1`)).toEqual(keysOf('Patient/1'))
    expect(whereOf(`${base}/Patient/1`)).toEqual(whereOf('Patient/1'))
  }
  expect(keysOf('https://elsewhere.example/fhir/Patient/1')).not.toEqual(keysOf('Patient/1'))
  expect(whereOf('https://elsewhere.example/fhir/Patient/1')).not.toEqual(whereOf('Patient/1'))
})
