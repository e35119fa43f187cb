/**
 * `node test/bench/search.ts [FOLDER]`: times of the SQLite search index. FOLDER contains Bundles; without one the bench generates 38,000
 * resources with the structure of Synthea's. Prints two tables.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SqliteSearchIndex } from '../../lambdas/adapters/sqlite-index/search-index.ts'
import type { Resource } from '../../lambdas/fhir/resource.ts'
import { and, type Plan, type Predicate } from '../../lambdas/ports/search/plan.ts'
import type { IndexDocument } from '../../lambdas/ports/search/search-index.ts'
import { extract } from '../../lambdas/search/documents/extract.ts'
import { parseSearch } from '../../lambdas/search/query/query.ts'
import { randomOf } from '../contracts/generated-search.ts'

const SYSTEMS = {
  loinc: 'http://loinc.org',
  snomed: 'http://snomed.info/sct',
  category: 'http://terminology.hl7.org/CodeSystem/observation-category',
}
const PATIENTS = 100
const SLICE = 128
const NOW = Date.UTC(2020, 0, 1)
const random = randomOf(1)

const QUERIES = [
  'Patient?name=fam1',
  'Observation?patient=PATIENT',
  'Observation?patient=PATIENT&category=laboratory',
  'Observation?patient=PATIENT&code=http://loinc.org|8302-2&date=ge2010',
  'Observation?patient=PATIENT&_sort=-date&_count=10',
  'Observation?code=http://loinc.org|8302-2',
  'Observation?category=laboratory',
  'Observation?category=laboratory&status=final',
  'Observation?status=final&date=ge2010',
  'Observation?category=laboratory&date=ge2010&date=lt2014',
  'Observation?date=ge2010',
  'Observation?code:not=http://loinc.org|8302-2',
  'Observation?_sort=-date',
  'Observation?category=laboratory&_sort=-date',
  'Observation?_sort=-_lastUpdated&_count=10',
  'Observation?category=laboratory&_total=accurate&_summary=count',
  'Observation',
  'Observation?_total=accurate&_count=0',
  '?_lastUpdated=ge2019',
] as const

function measure(folder: string | undefined): void {
  const resources = folder === undefined ? generated() : bundled(folder)
  const file = join(mkdtempSync(join(tmpdir(), 'fhir-bench-')), 'index.db')
  const index = new SqliteSearchIndex(file)
  const documents: IndexDocument[] = []
  const extracting = timed(() => {
    for (const [i, each] of resources.entries()) documents.push(documentOf(each, i))
  })
  const again = timed(() => resources.map(documentOf))
  const applying = timed(() => {
    for (let i = 0; i < documents.length; i += SLICE) {
      index.applyNow(documents.slice(i, i + SLICE))
      if (i % 4_992 === 0) index.commit()
    }
    index.commit()
  })
  const updating = timed(() => {
    for (let i = 0; i < 5_000; i += SLICE) index.applyNow(documents.slice(i, i + SLICE).map((each) => ({ ...each, version: 2 })))
    index.commit()
  })
  const each = (ms: number, count = documents.length) => `${((ms * 1_000) / count).toFixed(1)} µs`
  console.table({
    resources: documents.length,
    'extraction, cold': each(extracting),
    'extraction, warm': each(again),
    indexing: each(applying),
    'indexing an update': each(updating, Math.min(5_000, documents.length)),
    'bytes per resource': Math.round(statSync(file).size / documents.length),
  })
  const patient = resources.findLast(({ resourceType }) => resourceType === 'Patient')?.id ?? ''
  console.table(QUERIES.map((query) => latency(index, query.replace('PATIENT', patient))))
  index.close()
  rmSync(join(file, '..'), { recursive: true })
}

function latency(index: SqliteSearchIndex, query: string) {
  const [type = '', text = ''] = query.split('?')
  const request = parseSearch(type === '' ? undefined : type, [...new URLSearchParams(text)], { now: NOW })
  const types = type === '' ? ['Patient', 'Observation', 'Encounter', 'Claim', 'Procedure', 'Condition'] : [type]
  const plan: Plan = {
    tenant: 't',
    types,
    where: and(...(request.where as readonly Predicate[])),
    access: 'everything',
    order: request.order,
    limit: request.count,
    total: request.total,
  }
  const times = Array.from({ length: 7 }, () => timed(() => index.findNow(plan))).toSorted((a, b) => a - b)
  const page = index.findNow(plan)
  const last = page.hits.at(-1)
  const next = last === undefined ? 0 : timed(() => index.findNow({ ...plan, after: last.position, total: 'none' }))
  return { query: query.slice(0, 80), total: page.total, 'ms, median': +times[3]!.toFixed(2), 'next page': +next.toFixed(2) }
}

function timed(work: () => void): number {
  const from = performance.now()
  work()
  return performance.now() - from
}

const documentOf = (resource: Resource, i: number): IndexDocument =>
  extract(
    {
      tenant: 't',
      type: resource.resourceType,
      id: resource.id!,
      versionId: 1,
      lastUpdated: NOW + i,
      deleted: false,
      compartments: [],
      body: new Uint8Array(),
    },
    { ...resource, meta: { lastUpdated: new Date(NOW + i).toISOString(), versionId: '1' } },
  )

function bundled(folder: string): readonly Resource[] {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.json'))
  const byKey = new Map<string, Resource>()
  for (const name of names) {
    const { entry = [] } = JSON.parse(readFileSync(join(folder, name), 'utf8').replaceAll('urn:uuid:', 'Patient/')) as {
      entry?: { resource: Resource }[]
    }
    for (const { resource } of entry) byKey.set(`${resource.resourceType}/${resource.id}`, resource)
  }
  return [...byKey.values()]
}

const id = (i: number): string => `${(i * 2_654_435_761).toString(16).padStart(12, '0')}-${i.toString(16).padStart(8, '0')}-4000-8000`
const concept = (system: string, code: string) => ({
  coding: [{ system, code, display: `Display of ${code}` }],
  text: `Display of ${code}`,
})
const instant = (): string => new Date(NOW - random.below(315_360_000) * 1_000).toISOString()

/** Returns 380 resources for each of 100 patients. Half of them are Observations. */
function generated(): readonly Resource[] {
  const all: Resource[] = []
  for (let p = 0; p < PATIENTS; p++) {
    const patient = id(p)
    all.push(patientOf(patient, p))
    for (let i = 1; i < 380; i++) all.push(i % 10 === 0 ? encounterOf(p, i) : clinicalOf(p, i))
  }
  return all
}

const patientOf = (patient: string, p: number): Resource => ({
  resourceType: 'Patient',
  id: patient,
  identifier: [1, 2, 3].map((n) => ({ system: `urn:system:${n}`, value: `${patient}-${n}` })),
  name: [{ family: `Family${p}`, given: [`Given${p % 17}`], prefix: ['Mr.'] }],
  telecom: [{ system: 'phone', value: `555-${p}`, use: 'home' }],
  gender: p % 2 === 0 ? 'male' : 'female',
  birthDate: `${1930 + (p % 80)}-0${1 + (p % 9)}-11`,
  address: [{ line: [`${p} Main Street`], city: 'Boston', state: 'MA', postalCode: '02108', country: 'US' }],
})

const encounterOf = (p: number, i: number): Resource => {
  const start = instant()
  return {
    resourceType: 'Encounter',
    id: id(100 + p * 1_000 + i),
    status: 'finished',
    class: { system: 'http://terminology.hl7.org/CodeSystem/v3-ActCode', code: i % 3 === 0 ? 'EMER' : 'AMB' },
    type: [concept(SYSTEMS.snomed, `${185_345_000 + (i % 40)}`)],
    subject: { reference: `Patient/${id(p)}` },
    participant: [{ individual: { reference: `Practitioner/${id(i % 60)}` } }],
    period: { start, end: new Date(Date.parse(start) + 900_000).toISOString() },
    serviceProvider: { reference: `Organization/${id(i % 50)}` },
  }
}

function clinicalOf(p: number, i: number): Resource {
  const common = {
    id: id(100 + p * 1_000 + i),
    subject: { reference: `Patient/${id(p)}` },
    encounter: { reference: `Encounter/${id(100 + p * 1_000 + i - (i % 10))}` },
  }
  const snomed = concept(SYSTEMS.snomed, `${44_000_000 + (i % 70)}`)
  if (i % 9 < 5)
    return {
      resourceType: 'Observation',
      ...common,
      status: 'final',
      category: [concept(SYSTEMS.category, i % 4 === 0 ? 'vital-signs' : 'laboratory')],
      code: concept(SYSTEMS.loinc, i % 12 === 0 ? '8302-2' : `${2_000 + (i % 90)}-${i % 7}`),
      effectiveDateTime: instant(),
      issued: instant(),
      valueQuantity: { value: random.below(1_000) / 7, unit: 'mg/dL', system: 'http://unitsofmeasure.org', code: 'mg/dL' },
    }
  if (i % 9 < 7) return { resourceType: 'Procedure', ...common, status: 'completed', code: snomed, performedPeriod: { start: instant() } }
  return { resourceType: 'Condition', ...common, code: snomed, onsetDateTime: instant(), recordedDate: instant() }
}

measure(process.argv[2])
