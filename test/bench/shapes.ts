/**
 * Sixteen shapes of searches, and a read, for a server with Synthea Bundles. Their arguments vary widely, because the index caches the matches
 * of the latest searches.
 */
import { randomOf } from '../contracts/generated-search.ts'

/** Random choices. They are the same in each run. */
export const { pick, below } = randomOf(1)

export const READ = 'floor: a read'
/** Shape whose page has 20 Observations. */
export const TOKEN = 'token'

const LOINC =
  '8302-2 29463-7 39156-5 55284-4 8867-4 9279-1 72514-3 72166-2 4548-4 2339-0 6299-2 38483-4 49765-1 6298-4 2947-0 2069-3 20565-8 2093-3 2571-8 18262-6 2085-9 6690-2 789-8 718-7'.split(
    ' ',
  )
const CATEGORIES = ['laboratory', 'vital-signs', 'survey', 'social-history']

/** Returns a number from `from` on, below `to`. */
const number = (from: number, to: number): number => from + below(to - from)

/** Returns a month from the years `from` to `to`, such as `2010-05`. */
const month = (from: number, to: number): string => `${number(from, to)}-${String(1 + below(12)).padStart(2, '0')}`

/** Query of each shape, below the base URL. */
export const SHAPES: Readonly<Record<string, (patient: string) => string>> = {
  [READ]: (p) => `Patient/${p}`,
  'id look-up': (p) => `Patient?_id=${p}`,
  [TOKEN]: () => `Observation?code=http://loinc.org|${pick(LOINC)}`,
  'patient + category': (p) => `Observation?patient=${p}&category=laboratory`,
  'patient + date range': (p) => `Observation?patient=${p}&date=ge${month(2009, 2015)}&date=lt2019`,
  'date range': () => `Encounter?date=ge${month(2009, 2013)}&date=lt${month(2014, 2017)}`,
  'string prefix': () => `Patient?name=${pick([...'abcdefghjklmrst'])}${pick(['', 'a', 'e', 'i', 'o'])}`,
  identifier: (p) => `Patient?identifier=https://github.com/synthetichealth/synthea|${p}`,
  quantity: () => `Observation?value-quantity=gt${number(160, 190)}.${below(10)}||cm`,
  composite: () => `Observation?code-value-quantity=8302-2$gt${number(150, 185)}.${below(10)}||cm`,
  chain: () => `Observation?patient.birthdate=${number(1920, 2010)}&code=8302-2`,
  _has: () => `Patient?_has:Observation:patient:code-value-quantity=4548-4$gt${number(5, 7)}.${below(100)}`,
  _include: (p) => `Observation?patient=${p}&code=8302-2&_include=Observation:patient&_include=Observation:encounter`,
  _revinclude: (p) => `Patient?_id=${p}&_revinclude=Condition:patient`,
  sort: () => `Observation?category=${pick(CATEGORIES)}&date=ge${month(2008, 2015)}&_sort=-date`,
  count: () => `Observation?status=final&date=ge${month(2008, 2018)}&_summary=count`,
  group: (p) => `Observation?patient=${p}&_group=code:code&_groupSort=-date`,
}
