/** Specification 4.2: quantities with their units, composites, positions. Rows of query → ids. @cloud:here */
import { beforeAll, describe, expect, it } from '@jest/globals'
import { codeableConceptOf, observation } from '../fixtures/resources.ts'
import { issuesOf, type Tree, withServer } from './server.ts'

const { get, put } = withServer()

const UCUM = 'http://unitsofmeasure.org'
const code = (code: string, system = 'http://loinc.org') => codeableConceptOf(code, system)
const quantity = (value: number, unit: string, coded = true) => ({ value, unit, ...(coded ? { system: UCUM, code: unit } : {}) })
/** Samples in volts above 2. */
const sampled = (more: object) => ({ origin: quantity(2, 'V'), period: 10, dimensions: 1, ...more })

const RESOURCES: readonly Tree[] = [
  observation('g5', { code: code('29463-7'), valueQuantity: quantity(5, 'g') }),
  observation('mg5400', { code: code('29463-7'), valueQuantity: quantity(5400, 'mg') }),
  observation('lb', { code: code('29463-7'), valueQuantity: { value: 5, unit: 'pound' } }),
  observation('cel', { code: code('8310-5'), valueQuantity: quantity(37, 'Cel') }),
  observation('far', { code: code('8310-5'), valueQuantity: quantity(98.6, '[degF]') }),
  observation('samples', { valueSampledData: sampled({ factor: 0.5, data: '4 6 E 10' }) }),
  observation('device', { valueSampledData: sampled({ lowerLimit: 100, upperLimit: 200, data: '4 6' }) }),
  observation('unsampled', { valueSampledData: sampled({}) }),
  observation('iu', { code: code('iu'), valueQuantity: quantity(7, '[iU]') }),
  observation('minus', { code: code('minus'), valueQuantity: quantity(-2, 'g') }),
  observation('below', { code: code('crp'), valueQuantity: { ...quantity(5.4, 'Bq'), comparator: '<' } }),
  observation('upto', { code: code('crp'), valueQuantity: { ...quantity(5.4, 'Bq'), comparator: '<=' } }),
  observation('from', { code: code('crp'), valueQuantity: { ...quantity(5.4, 'Bq'), comparator: '>=' } }),
  observation('above', { code: code('crp'), valueQuantity: { ...quantity(5.4, 'Bq'), comparator: '>' } }),
  observation('unmeasured', { code: code('unmeasured'), valueQuantity: { unit: 'g', system: UCUM, code: 'g' } }),
  observation('glasgow', { code: code('scored'), valueQuantity: quantity(9, '{score}') }),
  observation('apgar', { code: code('scored'), valueQuantity: quantity(9, '{apgar}') }),
  observation('percent', { code: code('scored'), valueQuantity: quantity(900, '%') }),
  observation('cells', { code: code('scored'), valueQuantity: quantity(12, '{cells}/uL') }),
  observation('bare', { code: code('scored'), valueQuantity: quantity(12, '/uL') }),
  observation('own', { code: code('own'), valueQuantity: { value: 3, unit: 'drops', system: 'urn:units', code: 'dr' } }),
  observation('bp', {
    code: code('85354-9'),
    component: [
      { code: code('8480-6'), valueQuantity: quantity(140, 'mm[Hg]') },
      { code: code('8462-4'), valueQuantity: quantity(80, 'mm[Hg]') },
    ],
  }),
  observation('bp2', {
    code: code('85354-9'),
    component: [
      { code: code('8480-6'), valueQuantity: quantity(110, 'mm[Hg]') },
      { code: code('8462-4'), valueQuantity: quantity(140, 'mm[Hg]') },
    ],
  }),
  observation('blood', { code: code('883-9'), valueCodeableConcept: code('A', 'urn:abo') }),
  observation('text', { code: code('note'), valueString: 'Große Mühe' }),
  observation('dated', { code: code('883-8'), valueDateTime: '2020-05' }),
  {
    resourceType: 'Condition',
    id: 'range',
    subject: { reference: 'Patient/x' },
    onsetRange: { low: quantity(10, 'a'), high: quantity(20, 'a') },
  },
  {
    resourceType: 'MolecularSequence',
    id: 'sequence',
    coordinateSystem: 0,
    referenceSeq: { genomeBuild: 'GRCh37', chromosome: code('1', 'urn:chromosomes'), windowStart: 7, windowEnd: 50 },
  },
  { resourceType: 'Condition', id: 'age', subject: { reference: 'Patient/x' }, onsetAge: quantity(120, 'mo') },
  {
    resourceType: 'Group',
    id: 'group',
    type: 'person',
    actual: true,
    characteristic: [
      { code: code('gender'), valueCodeableConcept: code('female', 'urn:g'), exclude: false },
      { code: code('place'), valueCodeableConcept: code('home', 'urn:g'), exclude: false },
    ],
  },
  {
    resourceType: 'DocumentReference',
    id: 'doc',
    status: 'current',
    content: [{ attachment: { url: 'http://a.example/x' } }],
    relatesTo: [{ code: 'replaces', target: { reference: 'DocumentReference/old' } }],
  },
  { resourceType: 'Location', id: 'berlin', position: { latitude: 52.52, longitude: 13.405 } },
  { resourceType: 'Location', id: 'potsdam', position: { latitude: 52.4, longitude: 13.05 } },
  { resourceType: 'Location', id: 'fiji', position: { latitude: -17, longitude: 179.99 } },
  { resourceType: 'Location', id: 'nowhere', name: 'x' },
]

beforeAll(async () => {
  for (const each of RESOURCES) {
    const { status, text } = await put(`/${each.resourceType}/${each.id}`, each)
    expect([each.id, status, status === 201 ? '' : text]).toEqual([each.id, 201, ''])
  }
})

const ids = async (query: string): Promise<string> => {
  const { body, status } = await get(`/${query}`, { prefer: 'handling=strict' })
  expect([query, status]).toEqual([query, 200])
  return (body.entry ?? []).map(({ resource }: Tree) => resource.id).join(' ')
}

describe.each<[string, readonly (readonly [query: string, ids: string])[]]>([
  [
    'quantity',
    [
      ['Observation?value-quantity=5', 'g5 lb'],
      ['Observation?value-quantity=5||g', 'g5'],
      ['Observation?value-quantity=5||pound', 'lb'],
      [`Observation?value-quantity=5.0|${UCUM}|g`, 'g5'],
      [`Observation?value-quantity=5|${UCUM}|g`, 'g5 mg5400'],
      [`Observation?value-quantity=5000|${UCUM}|mg`, 'g5'],
      [`Observation?value-quantity=5.4|${UCUM}|g`, 'mg5400'],
      [`Observation?value-quantity=5400||mg`, 'mg5400'],
      [`Observation?value-quantity=gt5|${UCUM}|g`, 'mg5400'],
      [`Observation?value-quantity=ge0.005|${UCUM}|kg`, 'g5 mg5400'],
      [`Observation?value-quantity=lt0|${UCUM}|g`, 'minus'],
      [`Observation?value-quantity=le-2|${UCUM}|g`, 'minus'],
      [`Observation?value-quantity=37.0|${UCUM}|Cel`, 'cel far'],
      [`Observation?value-quantity=gt98|${UCUM}|[degF]`, 'cel far'],
      [`Observation?value-quantity=7|${UCUM}|[iU]`, 'iu'],
      [`Observation?value-quantity=7|${UCUM}|1`, ''],
      [`Observation?value-quantity=ge0|${UCUM}|V`, 'device samples'],
      [`Observation?value-quantity=gt7|${UCUM}|V`, 'device'],
      [`Observation?value-quantity=ge7|${UCUM}|V`, 'device samples'],
      [`Observation?value-quantity=sa3.9|${UCUM}|V`, 'device samples'],
      [`Observation?value-quantity=sa4|${UCUM}|V`, 'device'],
      [`Observation?value-quantity=lt4.1|${UCUM}|V`, 'samples'],
      [`Observation?value-quantity=sa99|${UCUM}|V`, 'device'],
      [`Observation?value-quantity=ge200000|${UCUM}|mV`, 'device'],
      [`Observation?value-quantity=gt200|${UCUM}|V`, ''],
      ['Observation?value-quantity=3|urn:units|dr', 'own'],
      ['Observation?value-quantity=3|urn:other|dr', ''],
      ['Observation?value-quantity=3||drops', 'own'],
      [`Observation?value-quantity=3|urn:units|`, 'own'],
      [`Observation?value-quantity=3|${UCUM}|`, ''],
      [`Observation?value-quantity=5|${UCUM}|`, 'g5'],
      [`Observation?value-quantity=lt8|urn:units|`, 'own'],
      [`Observation?code=crp&value-quantity=5.4|${UCUM}|Bq`, ''],
      ['Observation?code=crp&value-quantity=lt5.4', 'below upto'],
      [`Observation?code=crp&value-quantity=lt5.4|${UCUM}|Bq`, 'below upto'],
      [`Observation?code=crp&value-quantity=le5.4|${UCUM}|Bq`, 'below from upto'],
      [`Observation?code=crp&value-quantity=gt5.4||Bq`, 'above from'],
      [`Observation?code=crp&value-quantity=ge0.0054|${UCUM}|kBq`, 'above from upto'],
      [`Observation?code=crp&value-quantity=eb5.4|${UCUM}|Bq`, 'below'],
      [`Observation?code=crp&value-quantity=sa0.0054|${UCUM}|kBq`, 'above'],
      [`Observation?code=crp&value-quantity=lt1|${UCUM}|`, 'below upto'],
      [`Observation?value-quantity=9|${UCUM}|{score}`, 'glasgow'],
      [`Observation?value-quantity=9|${UCUM}|1`, 'percent'],
      [`Observation?value-quantity=12|${UCUM}|{cells}/uL`, 'bare cells'],
      [`Observation?value-quantity=ne5.0|${UCUM}|g&code=29463-7`, 'lb mg5400'],
      ['Observation?value-quantity=ne5&code=unmeasured', ''],
      [`Observation?value-quantity=ne5|${UCUM}|g&code=unmeasured`, ''],
      ['Observation?code-value-quantity=unmeasured$ne5', ''],
      ['Observation?value-quantity:missing=false&code=unmeasured', 'unmeasured'],
      [`Observation?value-quantity=ap5|${UCUM}|g`, 'g5 mg5400'],
      [`Observation?value-quantity=sa5|${UCUM}|g`, 'mg5400'],
      [`Observation?value-quantity=eb0|${UCUM}|g`, 'minus'],
      ['Observation?value-quantity=5,3', 'g5 lb own'],
      ['Observation?value-quantity:missing=false&code=29463-7&_sort=value-quantity', 'g5 lb mg5400'],
      ['Observation?combo-value-quantity=gt139||mm[Hg]', 'bp bp2'],
      [`Condition?onset-age=ge15|${UCUM}|a`, 'range'],
      [`Condition?onset-age=10|${UCUM}|a`, 'age'],
      [`Condition?onset-age=lt11|${UCUM}|a`, 'age range'],
      [`Condition?onset-age=sa9|${UCUM}|a`, 'age range'],
      [`Condition?onset-age=sa12|${UCUM}|a`, ''],
    ],
  ],
  [
    'composite',
    [
      ['Observation?code-value-quantity=29463-7$5||g', 'g5'],
      [`Observation?code-value-quantity=http://loinc.org|29463-7$gt5|${UCUM}|g`, 'mg5400'],
      ['Observation?code-value-quantity=29463-7$gt4', 'g5 lb mg5400'],
      [`Observation?code-value-quantity=crp$lt5.4|${UCUM}|Bq`, 'below upto'],
      ['Observation?code-value-quantity=own$3|urn:units|', 'own'],
      [`Observation?code-value-quantity=own$3|${UCUM}|`, ''],
      ['Observation?code-value-quantity=http://snomed.info/sct|29463-7$gt4', ''],
      ['Observation?code-value-quantity=http://loinc.org|$7', 'iu'],
      [`Observation?code-value-quantity=29463-7$ne5.0|${UCUM}|g`, 'lb mg5400'],
      ['MolecularSequence?chromosome-window-coordinate=1$ne5$gt40', 'sequence'],
      ['MolecularSequence?chromosome-window-coordinate=1$ne5$gt60', ''],
      ['MolecularSequence?chromosome-window-coordinate=1$ne7$gt40', ''],
      ['Observation?component-code-value-quantity=8480-6$gt130', 'bp'],
      ['Observation?component-code-value-quantity=8480-6$gt130,8462-4$gt130', 'bp bp2'],
      ['Observation?combo-code-value-quantity=8462-4$lt100', 'bp'],
      [`Observation?component-code-value-quantity=8462-4$18.6|${UCUM}|kPa`, ''],
      [`Observation?component-code-value-quantity=8462-4$18.7|${UCUM}|kPa`, 'bp2'],
      ['Observation?code-value-concept=883-9$A', 'blood'],
      ['Observation?code-value-concept=883-9$urn:abo|A', 'blood'],
      ['Observation?code-value-concept=883-9$urn:abo|', 'blood'],
      ['Observation?code-value-concept=883-9$urn:other|A', ''],
      ['Observation?code-value-string=note$GROß', 'text'],
      ['Observation?code-value-string=note$große muhe', 'text'],
      ['Observation?code-value-string=note$muhe', ''],
      ['Observation?code-value-date=883-8$2020', 'dated'],
      ['Observation?code-value-date=883-8$gt2020-06', ''],
      ['Observation?code-value-date=883-8$ge2020-05', 'dated'],
      ['Observation?code-value-date=x$2020', ''],
      ['Group?characteristic-value=gender$female', 'group'],
      ['Group?characteristic-value=place$female', ''],
      ['Group?characteristic-value=gender$female,place$office', 'group'],
      ['DocumentReference?relationship=DocumentReference/old$replaces', 'doc'],
      ['DocumentReference?relationship=DocumentReference/old$appends', ''],
    ],
  ],
  [
    'near',
    [
      ['Location?near=52.5|13.4', 'berlin potsdam'],
      ['Location?near=52.5|13.4|10|km', 'berlin'],
      ['Location?near=52.5|13.4|20|[mi_us]', 'berlin potsdam'],
      ['Location?near=52.52|13.405|0|m', 'berlin'],
      ['Location?near=-17|-179.99|3', 'fiji'],
      ['Location?near=0|0|1', ''],
    ],
  ],
])('search by %s', (_, rows) => {
  it.each(rows)('finds %s → %s', async (query, expected) => expect(await ids(query)).toBe(expected))
})

it('a match of near has its distance', async () => {
  const { body } = await get('/Location?near=52.52|13.405|30|km')
  expect(body.entry.map(({ search }: Tree) => search.extension[0].valueDistance.value)).toEqual([0, expect.closeTo(27.5, 0)])
})

it.each([
  'Observation?value-quantity=x',
  'Observation?value-quantity=5|mg',
  'Observation?value-quantity:exact=5',
  'Observation?code-value-quantity=29463-7',
  'Observation?code-value-quantity=a$b$c',
  'Observation?code-value-quantity=a$b',
  'Location?near=91|0',
  'Location?near=a|b',
  'Location?near=1|1|1|parsec',
  'Location?near=1|1|-1',
])('a search is rejected with 400: %s', async (query) => {
  const answer = await get(`/${query}`)
  expect([answer.status, issuesOf(answer).length]).toEqual([400, 1])
})
