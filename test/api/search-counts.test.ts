/**
 * Searches over Synthea patients find what loops over the raw JSON find: the sample, or with FHIR_SYNTHEA the Bundles of that folder. And
 * the searches of US Core (specification 4.3), each with every patient of the sample.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { findSourceFiles } from '../../bin/load/file-reader.ts'
import { load } from '../../bin/load/load.ts'
import type { EmbeddedServer } from '../../lambdas/runtime/embedded/server.ts'
import { type Json, QUERIES, readData } from '../fixtures/count-synthea.ts'
import { clientOf, startServer, type TestClient } from './server.ts'

const FOLDER = process.env.FHIR_SYNTHEA ?? 'test/fixtures/sample'
const data = readData(FOLDER)
let embedded: EmbeddedServer
let client: TestClient

beforeAll(async () => {
  const started = await startServer()
  embedded = started.embedded
  client = clientOf(() => started.base)
  const { failures } = await load(findSourceFiles([FOLDER]), { base: started.base, concurrency: 4, onProgress: () => undefined })
  expect(failures).toEqual([])
}, 300_000)
afterAll(() => embedded.close())

const idsOf = async (query: string): Promise<readonly string[]> => {
  const ids: string[] = []
  for (let url: string | undefined = `/${query}${query.includes('?') ? '&' : '?'}_count=1000`; url !== undefined; ) {
    const { body, status, text } = await client.get(url, { prefer: 'handling=strict' })
    expect([query, status, status === 200 ? '' : text]).toEqual([query, 200, ''])
    for (const { resource } of body.entry ?? []) ids.push(resource.id)
    url = body.link.find(({ relation }: Json) => relation === 'next')?.url
  }
  return ids
}

describe('searches over Synthea patients', () => {
  it.each(QUERIES)('find the same as a loop over the JSON: %s', async (query, test) => {
    const meant = data.all.filter((resource) => test(resource, data)).map(({ id }) => id)
    expect([...(await idsOf(query))].sort()).toEqual(meant.sort())
    const { body } = await client.get(`/${query}${query.includes('?') ? '&' : '?'}_summary=count`)
    expect(body.total).toBe(meant.length)
  })
})

const CATEGORY = 'http://terminology.hl7.org/CodeSystem/observation-category'
const LOINC = 'http://loinc.org'
const hasCode = (concepts: Json, codes: readonly string[]): boolean =>
  [concepts].flat().some((concept: Json) => concept?.coding?.some(({ code }: Json) => codes.includes(code)))
const startOf = (r: Json): number => Date.parse(r.effectiveDateTime ?? r.performedDateTime ?? r.performedPeriod?.start)
const endOf = (r: Json): number => (r.performedPeriod === undefined ? startOf(r) : Date.parse(r.performedPeriod.end)) + 1000
const after = (text: string) => (r: Json) => endOf(r) > Date.parse(text)
const before = (text: string) => (r: Json) => startOf(r) < Date.parse(text)

const US_CORE: readonly (readonly [query: string, test: (r: Json) => boolean])[] = [
  ['Observation?patient=ID&category=laboratory', (r) => hasCode(r.category, ['laboratory'])],
  [`Observation?patient=Patient/ID&category=${CATEGORY}|laboratory`, (r) => hasCode(r.category, ['laboratory'])],
  ['Observation?patient=ID&code=8302-2', (r) => hasCode(r.code, ['8302-2'])],
  [`Observation?patient=ID&code=${LOINC}|8302-2,${LOINC}|29463-7,8867-4`, (r) => hasCode(r.code, ['8302-2', '29463-7', '8867-4'])],
  ['Observation?patient=ID&category=laboratory&date=ge2015-01-01T00:00:00Z', (r) => hasCode(r.category, ['laboratory']) && after('2015-01-01')(r)],
  ['Observation?patient=ID&category=vital-signs&date=gt2014-12-31T23:59:59Z&date=lt2018-01-01T00:00:00Z', (r) => hasCode(r.category, ['vital-signs']) && after('2015-01-01')(r) && before('2018-01-01')(r)],
  ['Observation?patient=ID&category=laboratory&status=final', (r) => hasCode(r.category, ['laboratory']) && r.status === 'final'],
  ['Observation?patient=ID&category=laboratory&status=http://hl7.org/fhir/observation-status|final,amended', (r) => hasCode(r.category, ['laboratory']) && r.status === 'final'],
  ['Observation?patient=ID&code=8302-2,8867-4&date=le2017-12-31T23:59:59Z', (r) => hasCode(r.code, ['8302-2', '8867-4']) && before('2018-01-01')(r)],
  ['Procedure?patient=ID', () => true],
  ['Procedure?patient=Patient/ID', () => true],
  ['Procedure?patient=ID&date=ge2010-01-01T00:00:00Z&date=lt2015-01-01T00:00:00Z', (r) => after('2010-01-01')(r) && before('2015-01-01')(r)],
  ['Procedure?patient=ID&status=completed,in-progress', (r) => ['completed', 'in-progress'].includes(r.status)],
  ['Procedure?patient=ID&code=430193006,http://snomed.info/sct|428191000124101&date=gt2012-12-31T23:59:59Z', (r) => hasCode(r.code, ['430193006', '428191000124101']) && after('2013-01-01')(r)],
] // biome-ignore format: a table

describe('US Core searches', () => {
  const patients = data.all.filter(({ resourceType }) => resourceType === 'Patient').slice(0, 5)

  it.each(US_CORE)('find the same as a loop over the JSON: %s', async (query, test) => {
    for (const { id } of patients) {
      const [type] = query.split('?')
      const meant = data.all.filter((r) => r.resourceType === type && r.subject?.reference === `Patient/${id}` && test(r)).map((r) => r.id)
      expect([...(await idsOf(query.replace('ID', id)))].sort()).toEqual(meant.sort())
    }
  })

  it('read a Procedure by id', async () => {
    const procedure = data.all.find(({ resourceType }) => resourceType === 'Procedure')
    const { status, body } = await client.get(`/Procedure/${procedure.id}`)
    expect([status, body.code]).toEqual([200, procedure.code])
  })
})
