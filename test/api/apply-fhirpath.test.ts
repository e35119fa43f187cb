/** Specification 4.4: $apply-fhirpath, what an expression finds in a resource that is sent. @cloud:here */
import { randomUUID } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { observation, patient } from '../fixtures/resources.ts'
import { issuesOf, type TestResponse, type Tree, withServer } from './server.ts'

const { post, get } = withServer()

const input = (fhirPath: string, resource: Tree): Tree => ({
  resourceType: 'Parameters',
  parameter: [
    { name: 'fhirPath', valueString: fhirPath },
    { name: 'resource', resource },
  ],
})
/** Decimals keep their text only where the body is one. */
const sent = (fhirPath: string, resource: string): string => JSON.stringify(input(fhirPath, 'RESOURCE')).replace('"RESOURCE"', resource)
const apply = (fhirPath: string, resource: Tree | string): Promise<TestResponse> =>
  post('/$apply-fhirpath', typeof resource === 'string' ? sent(fhirPath, resource) : input(fhirPath, resource), {
    'content-type': 'application/json',
  })

const partsOf = ({ part }: Tree): Tree =>
  Object.assign({}, ...part.map(({ name, ...value }: Tree) => ({ [name]: Object.values(value)[0] })))
const named = ({ body }: TestResponse, name: string): readonly Tree[] => body.parameter.filter((each: Tree) => each.name === name)
const outcomeOf = (answer: TestResponse): string => named(answer, 'outcome')[0].valueString
const results = (answer: TestResponse): readonly Tree[] => named(answer, 'result').map(partsOf)
const validationOf = (answer: TestResponse): readonly string[] => issuesOf({ ...answer, body: named(answer, 'validation')[0].resource })
const refused = (answer: TestResponse): readonly unknown[] => [answer.status, issuesOf(answer)]

const PERSON = patient('p', {
  active: true,
  name: [{ family: 'Chalmers', given: ['Peter', 'James'] }, { given: ['Jim'] }],
  birthDate: '1974-12-25',
  _birthDate: {
    extension: [{ url: 'http://hl7.org/fhir/StructureDefinition/patient-birthTime', valueDateTime: '1974-12-25T14:35:45-05:00' }],
  },
  contact: [{ name: { family: 'du Marché' } }],
})
/** To have a narrative. */
const ADVICE = ['warning invariant Patient']
const WEIGHT =
  '{"resourceType":"Observation","id":"o","status":"final","code":{"text":"x"},"subject":{"reference":"Patient/p"},' +
  '"contained":[{"resourceType":"Practitioner","id":"c"}],"performer":[{"reference":"#c"}],' +
  '"valueQuantity":{"value":1.10,"unit":"kg","system":"http://unitsofmeasure.org","code":"kg"}}'

describe('the outcome', () => {
  it.each([
    ['Patient.name.given', '["Peter","James","Jim"]'],
    ['active', 'true'],
    ['Patient.name.exists() and birthDate > today()', 'false'],
    ['active | false', '[true,false]'],
    ['Patient.name.count()', '[3]'.replace('3', '2')],
    ['Patient.photo', '[]'],
    ['{}', '[]'],
    ["name.where(family = 'Chalmers').given.first() & '!'", '["Peter!"]'],
    ['Patient.name[1]', '[{"given":["Jim"]}]'],
    ['%sct', '["http://snomed.info/sct"]'],
    ['%`vs-administrative-gender`', '["http://hl7.org/fhir/ValueSet/administrative-gender"]'],
  ])('is determined for each expression: %s is %s', async (expression, expected) => {
    const answer = await apply(expression, PERSON)
    expect([answer.status, outcomeOf(answer), validationOf(answer)]).toEqual([200, expected, ADVICE])
  })
  it('keeps the text of decimals', async () => {
    const all = await apply('Observation.value | Observation.value.value', WEIGHT)
    expect(outcomeOf(all)).toBe('[{"value":1.10,"unit":"kg","system":"http://unitsofmeasure.org","code":"kg"},1.10]')
    expect(all.text).toContain('"valueQuantity":{"value":1.10,')
    expect(all.text).toContain('"valueDecimal":1.10}')
    const computed = await apply("12345678901234567890.5 + 1 | (1.50 'mg')", WEIGHT)
    expect(outcomeOf(computed)).toMatch(/^\[12345678901234567891\.5,\{"value":1\.50?,/)
    expect(computed.text).toContain('"valueDecimal":12345678901234567891.5}')
  })
})

describe('the results', () => {
  it.each([
    ['active', [{ type: 'boolean', path: 'Patient.active', value: true }]],
    ['name.given.last()', [{ type: 'string', path: 'Patient.name[1].given[0]', value: 'Jim' }]],
    ['name.first()', [{ type: 'HumanName', path: 'Patient.name[0]', value: PERSON.name[0] }]],
    ['contact', [{ type: 'Patient.contact', path: 'Patient.contact[0]', json: JSON.stringify(PERSON.contact[0]) }]],
    ['contact.name.family', [{ type: 'string', path: 'Patient.contact[0].name.family', value: 'du Marché' }]],
    ['$this', [{ type: 'Patient', path: 'Patient', resource: PERSON }]],
    ['1 + 1', [{ type: 'integer', value: 2 }]],
    ['2L + 4L', [{ type: 'long', json: '6' }]],
    ['9223372036854775807L', [{ type: 'long', json: '9223372036854775807' }]],
    ['0.1 + 0.2', [{ type: 'decimal', value: 0.3 }]],
    ['@2020-01-31T10:00:00+05:00 + 1 month', [{ type: 'dateTime', value: '2020-02-29T10:00:00+05:00' }]],
    ['1.5 * 2.5', [{ type: 'decimal', value: 3.75 }]],
    ['@2014-01-25', [{ type: 'date', value: '2014-01-25' }]],
    ['@2014-01-25T14:30:14.559Z', [{ type: 'dateTime', value: '2014-01-25T14:30:14.559Z' }]],
    ['@T14:30:00', [{ type: 'time', value: '14:30:00' }]],
    ['@T14', [{ type: 'time', json: '"14"' }]],
    ["''", [{ type: 'string', json: '""' }]],
    ['4 days', [{ type: 'Quantity', value: { value: 4, unit: 'days' } }]],
    ["5.5 'mg'", [{ type: 'Quantity', value: { value: 5.5, unit: 'mg', system: 'http://unitsofmeasure.org', code: 'mg' } }]],
    [
      "birthDate.extension('http://hl7.org/fhir/StructureDefinition/patient-birthTime').value",
      [{ type: 'dateTime', path: 'Patient.birthDate.extension[0].value', value: '1974-12-25T14:35:45-05:00' }],
    ],
  ])('have type, path and value: %s', async (expression, expected) => {
    expect(results(await apply(expression, PERSON))).toEqual(expected)
  })
  it('have paths of choices by element name, and values with their extensions', async () => {
    expect(results(await apply('Observation.value.ofType(Quantity).unit', WEIGHT))).toEqual([
      { type: 'string', path: 'Observation.value.unit', value: 'kg' },
    ])
    const [born] = named(await apply('birthDate', PERSON), 'result')
    expect(born.part[2]).toEqual({ name: 'value', valueDate: '1974-12-25', _valueDate: PERSON._birthDate })
    const extension = [{ url: 'http://hl7.org/fhir/StructureDefinition/data-absent-reason', valueCode: 'unknown' }]
    const unknown = await apply('birthDate', patient('p', { _birthDate: { extension } }))
    expect([outcomeOf(unknown), named(unknown, 'result')[0].part[2]]).toEqual(['[null]', { name: 'value', _valueDate: { extension } }])
  })
  it('have paths that find them again', async () => {
    const all = results(await apply('Observation.descendants()', WEIGHT))
    expect(all.length).toBeGreaterThan(12)
    for (const { path, ...value } of all) expect([path, results(await apply(path, WEIGHT))]).toEqual([path, [{ path, ...value }]])
  })
})

describe('resolution of references and terminologies', () => {
  it('finds contained resources and Bundle entries only', async () => {
    expect(outcomeOf(await apply('subject.resolve()', WEIGHT))).toBe('[]')
    expect(results(await apply('performer.resolve()', WEIGHT))).toEqual([
      { type: 'Practitioner', path: 'Observation.contained[0]', resource: { resourceType: 'Practitioner', id: 'c' } },
    ])
    const entry = [{ fullUrl: 'urn:uuid:1', resource: patient('p') }, { resource: observation('o', { subject: 'urn:uuid:1' }) }]
    const bundle = { resourceType: 'Bundle', type: 'collection', entry }
    expect(outcomeOf(await apply('entry.resource.subject.resolve().id', bundle))).toBe('["p"]')
    const collection = { resourceType: 'Bundle', type: 'collection', entry: [{ resource: JSON.parse(WEIGHT) }] }
    expect(results(await apply('entry.resource.performer.resolve()', collection))).toEqual([
      { type: 'Practitioner', path: 'Bundle.entry[0].resource.contained[0]', resource: { resourceType: 'Practitioner', id: 'c' } },
    ])
  })
  it.each([
    "code.memberOf('http://hl7.org/fhir/ValueSet/observation-codes')",
    "%terminologies.expand('http://hl7.org/fhir/ValueSet/observation-codes')",
  ])('is rejected with 422: %s', async (expression) => {
    expect(refused(await apply(expression, WEIGHT))).toEqual([422, ['error invalid Parameters.parameter[0].value']])
  })
})

describe('conformsTo()', () => {
  const BASE = 'http://hl7.org/fhir/StructureDefinition'
  const US_CORE = 'http://hl7.org/fhir/us/core/StructureDefinition/us-core-patient'
  const member = (id: string, more: Tree): Tree => ({ ...patient(id, more), identifier: [{ system: 'http://x/mrn', value: id }] })
  const COMPLETE = member('a', { name: [{ family: 'x' }], gender: 'male' })
  const NAMELESS = member('b', { gender: 'male' })
  const bundle = { resourceType: 'Bundle', type: 'collection', entry: [COMPLETE, NAMELESS].map((resource) => ({ resource })) }
  const text = ({ body }: TestResponse): string => body.issue[0].details.text

  it.each([
    [`conformsTo('${US_CORE}')`, COMPLETE, 'true'],
    [`conformsTo('${US_CORE}').not()`, NAMELESS, 'true'],
    [`conformsTo('${US_CORE}')`, JSON.parse(WEIGHT), 'false'],
    [`conformsTo('${BASE}/Patient')`, COMPLETE, 'true'],
    [`conformsTo('${BASE}/Observation')`, COMPLETE, 'false'],
    [`entry.resource.where(conformsTo('${US_CORE}')).id`, bundle, '["a"]'],
    [`entry.resource.where(conformsTo('${US_CORE}').not()).where(conformsTo('${BASE}/Patient')).single().id`, bundle, '["b"]'],
    [`contained.conformsTo('${BASE}/Practitioner')`, JSON.parse(WEIGHT), 'true'],
    [`name.where(%resource.conformsTo('${US_CORE}')).family`, COMPLETE, '["x"]'],
  ])('checks a resource against a loaded profile: %s', async (expression, resource, expected) => {
    expect(outcomeOf(await apply(expression, resource))).toBe(expected)
  })
  it('ignores the profiles that the resource itself names', async () => {
    const named = { ...NAMELESS, meta: { profile: [US_CORE] } }
    expect(outcomeOf(await apply(`conformsTo('${BASE}/Patient') and conformsTo('${US_CORE}').not()`, named))).toBe('true')
  })
  it('checks against a profile of the tenant', async () => {
    const url = `http://example.org/StructureDefinition/${randomUUID()}`
    const differential = { element: [{ id: 'Patient.birthDate', path: 'Patient.birthDate', min: 1 }] }
    const about = { status: 'active', kind: 'resource', abstract: false, type: 'Patient', derivation: 'constraint' }
    const profile = { resourceType: 'StructureDefinition', id: randomUUID(), url, name: 'Born', ...about, differential }
    expect((await post('/StructureDefinition', { ...profile, baseDefinition: `${BASE}/Patient` })).status).toBe(201)
    expect(outcomeOf(await apply(`conformsTo('${url}')`, PERSON))).toBe('true')
    expect(outcomeOf(await apply(`conformsTo('${url}')`, COMPLETE))).toBe('false')
  })
  it('is rejected with 422 if the profile is not loaded, or if it is evaluated on an element', async () => {
    const unknown = await apply("conformsTo('http://example.org/StructureDefinition/unheard-of')", PERSON)
    expect(refused(unknown)).toEqual([422, ['error not-found Parameters.parameter[0].value']])
    expect(text(unknown)).toBe('conformsTo() failed: The profile http://example.org/StructureDefinition/unheard-of is not loaded')
    const element = await apply(`name.conformsTo('${BASE}/HumanName')`, PERSON)
    expect(refused(element)).toEqual([422, ['error invalid Parameters.parameter[0].value']])
    expect(text(element)).toContain('conformsTo() is available for resources only')
  })
  it('is rejected with 422 too-costly if it asks for more than 1,000 checks', async () => {
    const answer = await apply(
      `(1 | 2).repeat(iif($this < 2000, $this + 1)).select(%resource.conformsTo('${BASE}/' & $this.toString()))`,
      PERSON,
    )
    expect(refused(answer)).toEqual([422, ['error too-costly Parameters.parameter[0].value']])
  })
})

describe('an expression', () => {
  it.each([
    ['name.where(', 'line 1, column 12'],
    ['name.\n given.', 'line 2, column 8'],
    ['name.given.unheardOf()', 'no function unheardOf (line 1, column 12)'],
    ['name.given.single()', 'cannot be evaluated'],
    ['%unheardOf', 'unheardOf'],
    [`${'('.repeat(4_000)}1${')'.repeat(4_000)}`, 'nested too deep'],
    ['today() + 99999999999 years', 'is out of range'],
    ['10.power(308) * 10.power(308)', 'a number that is too large'],
  ])('is rejected with 422 and the position if it is wrong: %j', async (expression, expected) => {
    const answer = await apply(expression, PERSON)
    expect([...refused(answer), answer.body.issue[0].details.text]).toEqual([
      422,
      ['error invalid Parameters.parameter[0].value'],
      expect.stringContaining(expected),
    ])
  })
  it.each([
    ['explodes in memory', `Patient.name${'.select($this.combine($this))'.repeat(30)}`],
    ['never ends', '(1).repeat($this + 1)'],
    ['matches in too many ways', "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab'.matches('^(a+)+$')"],
    ['is too long', 'true'.padEnd(10_001)],
  ])('is rejected with 422 too-costly if it %s, while others are answered', async (_, expression) => {
    const [answer, other, metadata] = await Promise.all([apply(expression, PERSON), apply('1', PERSON), get('/Patient?_count=0')])
    expect(refused(answer)).toEqual([422, ['error too-costly Parameters.parameter[0].value']])
    expect([outcomeOf(other), metadata.status]).toEqual(['[1]', 200])
  })
})

it('an expression with too large a result is rejected as too-costly', async () => {
  const answer = await apply('name.family.combine(name.family)', patient('p', { family: 'x'.repeat(600_000) }))
  expect([...refused(answer), answer.body.issue[0].details.text]).toEqual([
    422,
    ['error too-costly Parameters.parameter[0].value'],
    'The expression finds more than an answer can hold',
  ])
  expect(outcomeOf(await apply('name.family.length()', patient('p', { family: 'x'.repeat(600_000) })))).toBe('[600000]')
})

describe('the resource', () => {
  it('is validated, and invalid content does not prevent the evaluation', async () => {
    const answer = await apply('Patient.gender', patient('p', { gender: 'none', meta: { profile: ['http://example.org/unheard-of'] } }))
    expect([answer.status, outcomeOf(answer), validationOf(answer)]).toEqual([
      200,
      '["none"]',
      ['error code-invalid Patient.gender', ...ADVICE, 'warning not-found Patient.meta.profile[0]'],
    ])
  })
  it.each([
    ['missing', [{ name: 'fhirPath', valueString: '1' }], 'error required Parameters.parameter'],
    ['alone', [{ name: 'resource', resource: PERSON }], 'error required Parameters.parameter'],
    ['no resource', [{ name: 'resource', valueString: 'Patient' }], 'error invalid Parameters.parameter[0]'],
    [
      'of an unknown type',
      [{ name: 'resource', resource: { resourceType: 'Patienz' } }],
      'error structure Parameters.parameter[0].resource',
    ],
    ['without a type', [{ name: 'resource', resource: { id: 'x' } }], 'error structure Parameters.parameter[0].resource'],
    ['twice', [0, 1].map(() => ({ name: 'resource', resource: PERSON })), 'error duplicate Parameters.parameter[1].resource'],
    ['beside another', [{ name: 'resources', resource: PERSON }], 'error not-supported Parameters.parameter[0]'],
    ['beside an expression of another form', [{ name: 'fhirPath', valueCode: '1' }], 'error invalid Parameters.parameter[0]'],
  ])('is rejected with 400 if it is %s', async (_, parameter, expected) => {
    expect(refused(await post('/$apply-fhirpath', { resourceType: 'Parameters', parameter }))).toEqual([400, [expected]])
  })
  it('is accepted in Parameters without a resourceType, or with a ResourceType', async () => {
    const { resourceType: _, ...body } = input('active', PERSON)
    for (const sent of [body, { ResourceType: 'Parameters', ...body }])
      expect(outcomeOf(await post('/$apply-fhirpath', sent, { 'content-type': 'application/json' }))).toBe('true')
    const otherwise = { ResourceType: 'Bundle', ...body }
    expect(refused(await post('/$apply-fhirpath', otherwise))).toEqual([400, ['error structure resourceType']])
    expect(refused(await post('/$apply-fhirpath', { ResourceType: 'Parameters' }))).toEqual([400, ['error structure resourceType']])
    expect(refused(await post('/Patient/$validate', body))).toEqual([400, ['error structure resourceType']])
  })
  it('is accepted only in Parameters as JSON', async () => {
    expect(refused(await post('/$apply-fhirpath', PERSON))).toEqual([400, ['error invalid resourceType']])
    expect(refused(await post('/$apply-fhirpath', ''))).toEqual([400, ['error required']])
    expect(refused(await post('/$apply-fhirpath', '[]'))).toEqual([400, ['error structure resourceType']])
    expect(refused(await post('/$apply-fhirpath', { ...input('1', PERSON), odd: 1 }))).toEqual([400, ['error structure Parameters.odd']])
    expect(refused(await post('/$apply-fhirpath?fhirPath=1', input('1', PERSON)))).toEqual([400, ['error not-supported']])
    expect((await post('/$apply-fhirpath', 'x', { 'content-type': 'text/plain' })).status).toBe(415)
    expect((await get('/$apply-fhirpath')).status).toBe(405)
  })
})

it('the CapabilityStatement contains a valid definition of $apply-fhirpath', async () => {
  const { body: statement } = await get('/metadata')
  const [{ definition }] = statement.rest[0].operation.filter(({ name }: Tree) => name === 'apply-fhirpath')
  const [defined] = statement.contained.filter(({ id }: Tree) => `#${id}` === definition)
  expect(defined).toMatchObject({ resourceType: 'OperationDefinition', code: 'apply-fhirpath', system: true, type: false, instance: false })
  const names = (use: string): readonly string[] => defined.parameter.flatMap((each: Tree) => (each.use === use ? [each.name] : []))
  expect(names('in')).toEqual(['fhirPath', 'resource'])
  const { body } = await apply('name.family', patient('p', { family: 'x' }))
  expect(new Set(body.parameter.map(({ name }: Tree) => name))).toEqual(new Set(names('out')))
  expect((await errorsOf(defined)).map(({ details }) => details.text)).toEqual([])
  // SMART names two endpoints more than R4's definition of its extension has. http://hl7.org/fhir/smart-app-launch/1.0.0/conformance/
  const others = (await errorsOf(statement)).filter(({ expression }) => !/security\.extension\[0\]\.extension\[\d\]$/.test(expression[0]))
  expect(others).toEqual([])
})
async function errorsOf(resource: Tree): Promise<readonly Tree[]> {
  const { body } = await post(`/${resource.resourceType}/$validate`, resource)
  return body.issue.filter(({ severity }: Tree) => severity === 'error')
}

describe('JavaScript names in expressions', () => {
  // biome-ignore format: a list
  it.each(['constructor', '__proto__', 'toString', 'hasOwnProperty', 'valueOf', '__defineGetter__', 'name.constructor', '`constructor`', '`\\u0063onstructor`',
    '%resource.constructor.constructor', 'name.select(__proto__)', 'name.where(constructor.exists())', "'a'.constructor", '(1).valueOf', '@2020.constructor', "(1 'mg').constructor",
    'type().constructor', 'repeat(constructor)', 'children().__proto__', 'id.link', '%sct.constructor'])('find nothing: %s', async (expression) => {
    expect(outcomeOf(await apply(expression, PERSON))).toBe('[]')
  })

  it.each([
    '%constructor',
    '%__proto__',
    '%`toString`',
    '%factory',
    "%factory.Coding('a', 'b')",
    '%terminologies',
    'constructor()',
    'valueOf()',
  ])('are rejected as unknown: %s', async (expression) => expect((await apply(expression, PERSON)).status).toBe(422))

  it('are plain text within strings and comments', async () => {
    expect(outcomeOf(await apply("'constructor' /* toString */ & active.toString()", PERSON))).toBe('["constructortrue"]')
  })
})
