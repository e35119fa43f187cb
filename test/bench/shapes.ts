/** Sixteen shapes of searches, and a read, asked of a server that Synthea Bundles were loaded into. */
import { randomOf } from '../contracts/generated-search.ts'

/** The same picks in each run. */
export const { pick } = randomOf(1)

export const READ = 'floor: a read'
/** Of which 20 Observations are shown. */
export const TOKEN = 'token'

/** What follows the base URL, about a patient or with other arguments. */
export const SHAPES: Readonly<Record<string, (patient: string) => string>> = {
  [READ]: (p) => `Patient/${p}`,
  'id look-up': (p) => `Patient?_id=${p}`,
  [TOKEN]: () => `Observation?code=http://loinc.org|${pick(['8302-2', '29463-7', '4548-4'])}`,
  'patient + category': (p) => `Observation?patient=${p}&category=laboratory`,
  'patient + date range': (p) => `Observation?patient=${p}&date=ge${pick(['2010', '2014'])}&date=lt2018`,
  'date range': () => `Encounter?date=ge${pick(['2010', '2012'])}-05&date=lt2013`,
  'string prefix': () => `Patient?name=${pick(['a', 'be', 'mar', 's'])}`,
  identifier: (p) => `Patient?identifier=https://github.com/synthetichealth/synthea|${p}`,
  quantity: () => `Observation?value-quantity=gt${pick([170, 180, 190])}||cm`,
  composite: () => `Observation?code-value-quantity=8302-2$gt${pick([170, 180])}||cm`,
  chain: () => `Observation?patient.birthdate=${pick([1950, 1960, 1970])}&code=8302-2`,
  _has: () => `Patient?_has:Observation:patient:code-value-quantity=4548-4$gt${pick([6, 7])}`,
  _include: (p) => `Observation?patient=${p}&code=8302-2&_include=Observation:patient&_include=Observation:encounter`,
  _revinclude: (p) => `Patient?_id=${p}&_revinclude=Condition:patient`,
  sort: () => `Observation?category=${pick(['laboratory', 'vital-signs'])}&_sort=-date`,
  count: () => `Observation?status=final&date=ge${pick([2010, 2015])}&_summary=count`,
  group: (p) => `Observation?patient=${p}&_group=code:code&_groupSort=-date`,
}
