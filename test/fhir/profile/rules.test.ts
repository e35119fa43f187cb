/** Each kind of profile rule: a resource that breaks it gets a finding with its path, others get none. https://hl7.org/fhir/R4/elementdefinition.html */
import { describe, expect, it } from '@jest/globals'
import { parseJson } from '../../../lambdas/fhir/json.ts'
import type { Resource } from '../../../lambdas/fhir/resource.ts'
import {
  FIXED_CLOCK,
  findErrors,
  PROFILE_FORMS,
  type ProfileElement,
  profile,
  profileCheckerOf,
  R4_CANONICAL_BASE,
} from '../../fixtures/profiles/checking.ts'

const observation = (more: object): object => ({ resourceType: 'Observation', ...more })
const quantity = (value: number, code: string): object =>
  observation({ valueQuantity: { value, code, system: 'http://unitsofmeasure.org' } })

/** Subject, elements of the profile, resources that break it with the expected finding, and resources that conform. */
type Row = readonly [string, readonly ProfileElement[], readonly (readonly [object, string])[], readonly object[]]

const reference = (...names: readonly string[]): object => ({
  code: 'Reference',
  targetProfile: names.map((name) => `${R4_CANONICAL_BASE}${name}`),
})
const contained = { contained: [{ resourceType: 'Patient', id: 'p' }] }

const ROWS: readonly Row[] = [
  ['min', [{ id: 'Observation.note', min: 2 }],
    [[observation({ note: [{ text: 'x' }] }), 'Observation: There must be at least 2 note'], [observation({}), 'Observation: There must be at least 2 note']],
    [observation({ note: [{ text: 'x' }, { text: 'y' }] })]],
  ['max', [{ id: 'Observation.note', max: '1' }],
    [[observation({ note: [{ text: 'x' }, { text: 'y' }] }), 'Observation.note: There may be at most 1 note']],
    [observation({}), observation({ note: [{ text: 'x' }] })]],
  ['max 0', [{ id: 'Observation.note', max: '0' }, { id: 'Observation.value[x]', max: '0' }],
    [[observation({ note: [{ text: 'x' }] }), 'Observation.note: note is not allowed'], [observation({ valueString: 'x' }), 'Observation.value: value is not allowed']],
    [observation({})]],
  ['types of a choice', [{ id: 'Observation.value[x]', type: [{ code: 'Quantity' }, { code: 'string' }] }],
    [[observation({ valueBoolean: true }), 'Observation.value: value must be of the type Quantity or string']],
    [observation({ valueString: 'x' }), observation({ valueQuantity: { value: 1 } }), observation({})]],
  ['the type of a choice, and its profile', [{ id: 'Observation.value[x]', type: [{ code: 'Quantity', profile: [`${R4_CANONICAL_BASE}SimpleQuantity`] }] }],
    [[observation({ valueString: 'x' }), 'Observation.value: value must be of the type Quantity']],
    [observation({ valueQuantity: { value: 1 } })]],
  ['the type of a resource within', [{ id: 'Bundle.entry.resource', type: [{ code: 'Patient' }, { code: 'Group' }] }],
    [[{ resourceType: 'Bundle', entry: [{ resource: { resourceType: 'Patient' } }, { resource: { resourceType: 'Device' } }] }, 'Bundle.entry[1].resource: resource must be of the type Patient or Group']],
    [{ resourceType: 'Bundle', entry: [{ resource: { resourceType: 'Patient' } }, { resource: { resourceType: 'Group' } }] }]],
  ['the type of what is contained', [{ id: 'Observation.contained', type: [{ code: 'Group' }] }],
    [[observation(contained), 'Observation.contained[0]: contained must be of the type Group']],
    [observation({ contained: [{ resourceType: 'Group', id: 'g' }] })]],
  ['any resource', [{ id: 'Observation.contained', type: [{ code: 'Resource' }] }], [], [observation(contained)]],
  ['entries by the type of their resource',
    [{ id: 'Bundle.entry', slicing: { discriminator: [{ type: 'type', path: 'resource' }], rules: 'closed' } },
      { id: 'Bundle.entry:patient', min: 0, max: '1' }, { id: 'Bundle.entry:patient.resource', min: 1, type: [{ code: 'Patient' }] }],
    [[{ resourceType: 'Bundle', entry: [{ resource: { resourceType: 'Device' } }] }, 'Bundle.entry[0]: closed']],
    [{ resourceType: 'Bundle', entry: [{ resource: { resourceType: 'Patient' } }] }]],
  ['targets', [{ id: 'Observation.subject', type: [reference('Patient', 'Device')] }],
    [[observation({ subject: { reference: 'Group/1' } }), 'Observation.subject: A reference to Group is not allowed here, only to Patient, Device'],
      [observation({ subject: { type: 'Location' } }), 'Observation.subject: A reference to Location is not allowed here, only to Patient, Device']],
    [observation({ subject: { reference: 'Patient/1' } }), observation({ subject: { reference: '#p' }, ...contained }), observation({ subject: { display: 'x' } }),
      observation({ subject: { reference: 'urn:uuid:5d3ab1a3-0d8f-4e0f-8bb5-6a4f1a1b1c1d' } })]],
  ['fixed', [{ id: 'Observation.code', fixedCodeableConcept: { text: 'x' } }],
    [[observation({ code: { text: 'y' } }), 'Observation.code: code must be {"text":"x"}'], [observation({ code: { text: 'x', id: 'y' } }), 'Observation.code: code must be {"text":"x"}']],
    [observation({ code: { text: 'x' } })]],
  ['pattern', [{ id: 'Observation.code', patternCodeableConcept: { coding: [{ code: 'x' }] } }],
    [[observation({ code: { text: 'x' } }), 'Observation.code: code must have {"coding":[{"code":"x"}]}'],
      [observation({ code: { coding: [{ code: 'y' }] } }), 'Observation.code: code must have {"coding":[{"code":"x"}]}']],
    [observation({ code: { coding: [{ code: 'y' }, { code: 'x', system: 's' }], text: 'z' } })]],
  ['fixed, of a primitive without a value', [{ id: 'Patient.gender', fixedCode: 'male' }],
    [[{ resourceType: 'Patient', _gender: { extension: [{ url: 'http://example.org/x', valueCode: 'male' }] } }, 'Patient.gender: gender must be male']],
    [{ resourceType: 'Patient' }, { resourceType: 'Patient', gender: 'male', _gender: { id: 'x' } }]],
  ['pattern, of a primitive without a value', [{ id: 'Patient.name.given', patternString: 'x' }],
    [[{ resourceType: 'Patient', name: [{ given: ['x', null], _given: [null, { id: 'y' }] }] }, 'Patient.name[0].given[1]: given must have x']],
    [{ resourceType: 'Patient', name: [{ given: ['x'], _given: [{ id: 'y' }] }] }]],
  ['maxLength', [{ id: 'Observation.value[x]', maxLength: 3 }],
    [[observation({ valueString: 'four' }), 'Observation.value: value may have 3 characters']],
    [observation({ valueString: 'abc' }), observation({ valueString: '😀😀😀' })]],
  ['minValue of dates', [{ id: 'Patient.birthDate', minValueDate: '1900-06-15' }],
    [[{ resourceType: 'Patient', birthDate: '1900-06-14' }, 'Patient.birthDate: birthDate must be at least 1900-06-15'],
      [{ resourceType: 'Patient', birthDate: '1899' }, 'Patient.birthDate: birthDate must be at least 1900-06-15']],
    [{ resourceType: 'Patient', birthDate: '1900-06-15' }, { resourceType: 'Patient', birthDate: '1901' }, { resourceType: 'Patient', birthDate: '1900' }]],
  ['maxValue of moments', [{ id: 'Observation.issued', maxValueInstant: '2024-01-01T12:00:00Z' }],
    [[observation({ issued: '2024-01-01T12:00:01Z' }), 'Observation.issued: issued must be at most 2024-01-01T12:00:00Z'],
      [observation({ issued: '2024-01-01T08:00:00-05:00' }), 'Observation.issued: issued must be at most 2024-01-01T12:00:00Z']],
    [observation({ issued: '2024-01-01T12:00:00Z' }), observation({ issued: '2024-01-01T13:00:00+02:00' })]],
  ['minValue of quantities', [{ id: 'Observation.value[x]', minValueQuantity: { value: 10, system: 'http://unitsofmeasure.org', code: 'g' } }],
    [[quantity(100, 'mg'), 'Observation.value: value must be at least {"value":10,"system":"http://unitsofmeasure.org","code":"g"}']],
    [quantity(10, 'g'), quantity(1, 'kg'), quantity(1, 'cm'), quantity(10_000, 'mg')]],
  ['maxValue of decimals', [{ id: 'Observation.value[x].value', maxValueDecimal: 1.1 }],
    [[parseJson('{"resourceType":"Observation","valueQuantity":{"value":1.20}}') as object, 'Observation.value.value: value must be at most 1.1']],
    [parseJson('{"resourceType":"Observation","valueQuantity":{"value":1.10}}') as object, parseJson('{"resourceType":"Observation","valueQuantity":{"value":1e-3}}') as object]],
  ['constraints', [{ id: 'Patient.name', constraint: [{ key: 'own-1', severity: 'error', human: 'Say it', expression: 'text.exists()' }, { key: 'own-2', severity: 'warning', human: 'Advice', expression: 'given.exists()' }] }],
    [[{ resourceType: 'Patient', name: [{ text: 'x' }, { family: 'x' }] }, 'Patient.name[1]: Say it (own-1)']],
    [{ resourceType: 'Patient', name: [{ text: 'x' }] }]],
  ['must-support', [{ id: 'Patient.name', mustSupport: true }, { id: 'Patient.photo', mustSupport: true }], [], [{ resourceType: 'Patient' }]],
  ['content that refers to another', [{ id: 'Questionnaire.item.text', min: 1 }, { id: 'Questionnaire.item.item', contentReference: '#Questionnaire.item' }],
    [[{ resourceType: 'Questionnaire', item: [{ text: 'x', item: [{ text: 'x', item: [{}] }] }] }, 'Questionnaire.item[0].item[0].item[0]: text is required']],
    [{ resourceType: 'Questionnaire', item: [{ text: 'x', item: [{ text: 'x', item: [{ text: 'x' }] }] }] }]],
] // biome-ignore format: a table

describe.each(PROFILE_FORMS.flatMap((form) => ROWS.map(([name, ...row]) => [`${name}, as a ${form}`, ...row, form] as const)))(
  '%s',
  (_name, elements, broken, kept, form) => {
    const find = profileCheckerOf([profile(elements, form)])

    it('reports resources that break it', async () => {
      for (const [resource, expected] of broken) expect(await findErrors(find, resource)).toEqual([expected])
    })

    it('does not report resources that conform', async () => {
      for (const resource of kept) expect(await findErrors(find, resource)).toEqual([])
    })
  },
)

describe('profiles that refer to profiles', () => {
  const url = (name: string): string => `http://example.org/${name}`

  it('apply to the types that name them', async () => {
    const short = profile([{ id: 'HumanName.family', min: 1 }], 'differential', url('name'))
    const whole = profile([{ id: 'Patient.name', type: [{ code: 'HumanName', profile: [url('name')] }] }])
    expect(await findErrors(profileCheckerOf([short, whole]), { resourceType: 'Patient', name: [{ family: 'x' }, {}] })).toEqual([
      'Patient.name[1]: family is required',
    ])
  })

  it('apply to contained resources, but not to targets that are not available', async () => {
    const named = profile([{ id: 'Patient.name', min: 1 }], 'differential', url('named'))
    const about = profile([{ id: 'Observation.subject', type: [{ code: 'Reference', targetProfile: [url('named')] }] }])
    const find = profileCheckerOf([named, about])
    const own = observation({ subject: { reference: '#p' }, ...contained })
    expect(await findErrors(find, own)).toEqual(['Observation.subject: What is referred to is not as it must be: http://example.org/named'])
    expect(await findErrors(find, observation({ subject: { reference: 'Patient/1' } }))).toEqual([])
  })

  it('may refer to themselves', async () => {
    const own = profile([
      { id: 'Patient.link.other', type: [{ code: 'Reference', targetProfile: ['http://example.org/profile'] }] },
      { id: 'Patient.name', min: 1 },
    ])
    const patient = {
      resourceType: 'Patient',
      id: 'x',
      name: [{ text: 'x' }],
      contained: [{ resourceType: 'Patient', id: 'p', link: [{ other: { reference: '#p' } }] }],
    }
    expect(await findErrors(profileCheckerOf([own]), { ...patient, link: [{ other: { reference: '#p' } }] })).toHaveLength(1)
  })

  it('are unusable if they derive from themselves or from a profile that is not loaded', async () => {
    const circle = [
      profile([{ id: 'Patient.name', min: 1 }], 'differential', url('a'), url('b')),
      profile([{ id: 'Patient.name', min: 1 }], 'differential', url('b'), url('a')),
    ]
    const lost = profile([{ id: 'Patient.name', min: 1 }], 'differential', url('c'), url('nowhere'))
    const { issues, missing, unusable } = await profileCheckerOf([...circle, lost])({ resourceType: 'Patient' }, [
      url('a'),
      url('c'),
      url('d'),
    ])
    expect({ missing, unusable, errors: issues.filter(({ severity }) => severity === 'error') }).toEqual({
      missing: [url('d')],
      unusable: [
        { profile: url('a'), reason: `${url('a')} differs from itself` },
        { profile: url('c'), reason: `${url('c')} differs from ${url('nowhere')}, which is not loaded` },
      ],
      errors: [],
    })
  })
})

it("a constraint with an R4 key is the profile's own unless R4 is its source", async () => {
  const own = (source?: string) => [
    { key: 'inv-1', severity: 'error', human: 'Own', expression: 'name.exists()', ...(source === undefined ? {} : { source }) },
  ]
  const errors = (form: 'snapshot' | 'differential', source?: string) =>
    findErrors(profileCheckerOf([profile([{ id: 'Patient', constraint: own(source) }], form)]), { resourceType: 'Patient' })
  const told = ['Patient: Own (inv-1)']
  expect(await errors('differential')).toEqual(told)
  expect(await errors('differential', 'http://example.org/profile')).toEqual(told)
  expect(await errors('snapshot', 'http://example.org/profile')).toEqual(told)
  expect(await errors('snapshot', `${R4_CANONICAL_BASE}Patient`)).toEqual([])
  expect(await errors('snapshot')).toEqual([])
})

it('a contained resource needs no narrative, unlike an entry of a Bundle', async () => {
  const text = { status: 'generated', div: '<div xmlns="http://www.w3.org/1999/xhtml">x</div>' }
  const bundle = { resourceType: 'Bundle', type: 'collection', entry: [{ resource: { resourceType: 'Patient' } }] }
  const warnings = async (resource: object): Promise<readonly (string | undefined)[]> => {
    const { issues } = await profileCheckerOf([])(resource as Resource, [])
    return issues.filter(({ text: told }) => told.includes('dom-6')).map(({ expression }) => expression)
  }
  expect(await warnings(observation({ text, ...contained }))).toEqual([])
  expect(await warnings(observation(contained))).toEqual(['Observation'])
  expect(await warnings(bundle)).toEqual(['Bundle.entry[0].resource'])
})

describe('limits relative to now', () => {
  const DAY = 86_400_000
  const UCUM = 'http://unitsofmeasure.org'
  const day = (days: number): string => new Date(FIXED_CLOCK.now() + days * DAY).toISOString().slice(0, 10)
  const moment = (hours: number): string => new Date(FIXED_CLOCK.now() + (hours * DAY) / 24).toISOString()
  const limited = (id: string, name: string, limit: object) => profileCheckerOf([profile([{ id, [name]: limit }])])
  const patient = (birthDate: string): object => ({ resourceType: 'Patient', birthDate })

  it.each([
    ['minValueQuantity', 10, 'a', [-3_700, '1900'], [-3_600, 10, '2999'], 'birthDate must be at least now - 10 a'],
    ['maxValueQuantity', -18, 'a', [-18 * 365, 1, '2999-01'], [-18 * 366 - 2, '1900'], 'birthDate must be at most now - 18 a'],
    ['maxValueQuantity', 0, 'd', [3, '2999'], [0, -1, '1900'], 'birthDate must be at most now + 0 d'],
    ['maxValueQuantity', 2, 'wk', [17], [12], 'birthDate must be at most now + 2 wk'],
    ['minValueQuantity', 3, 'mo', ['2024-02-27', '2024-01'], ['2024-02-29', '2024-02'], 'birthDate must be at least now - 3 mo'],
  ] as const)('apply to dates: %s of %d %s', async (name, value, code, outs, ins, text) => {
    const find = limited('Patient.birthDate', name, { value, system: UCUM, code })
    const dateOf = (each: number | string): string => (typeof each === 'string' ? each : day(each))
    for (const each of outs) expect(await findErrors(find, patient(dateOf(each)))).toEqual([`Patient.birthDate: ${text}`])
    for (const each of ins) expect(await findErrors(find, patient(dateOf(each)))).toEqual([])
  })

  it('are exact for instants, and allow every time zone for days', async () => {
    const find = limited('Observation.issued', 'minValueQuantity', { value: 2, system: UCUM, code: 'h' })
    expect(await findErrors(find, observation({ issued: moment(-3) }))).toEqual(['Observation.issued: issued must be at least now - 2 h'])
    expect(await findErrors(find, observation({ issued: moment(-1) }))).toEqual([])
    const today = limited('Patient.birthDate', 'minValueQuantity', { value: 1, system: UCUM, code: 'min' })
    expect(await findErrors(today, patient(day(0)))).toEqual([])
    expect(await findErrors(today, patient(day(-2)))).toEqual(['Patient.birthDate: birthDate must be at least now - 1 min'])
  })

  it.each([
    { value: 1, system: UCUM, code: 'kg' },
    { value: 1, unit: 'years' },
    { system: UCUM, code: 'a' },
  ])('are reported if they are no duration: %j', async (limit) => {
    const { issues } = await limited(
      'Patient.birthDate',
      'maxValueQuantity',
      limit,
    )(patient('2999-01-01') as Resource, ['http://example.org/profile'])
    const told = issues.filter(({ expression }) => expression === 'Patient.birthDate')
    expect(told.map(({ severity, code }) => [severity, code])).toEqual([['information', 'not-supported']])
  })
})
