/** A definition or target that is not available leaves a result undecided: that is reported, and is never an error. https://hl7.org/fhir/R4/profiling.html#discriminator */
import { describe, expect, it } from '@jest/globals'
import type { Resource } from '../../../lambdas/fhir/resource.ts'
import { PROFILE_URL, type ProfileElement, profile, profileCheckerOf, R4_CANONICAL_BASE } from '../../fixtures/profiles/checking.ts'

const NOWHERE = 'http://example.org/nowhere'
const FITS = 'http://example.org/fits'
const named = profile([{ id: 'Patient.name', min: 1 }], 'differential', FITS)
const on = (type: string, path: string) => ({ discriminator: [{ type, path }], rules: 'open' })
const targets = (...targetProfile: readonly string[]) => [{ code: 'Reference', targetProfile }]
const notLoaded = (canonical: string): string => `the profile ${canonical} is not loaded`

/** Returns severity, path and text of the findings, without R4's advice. */
async function told(elements: readonly ProfileElement[], resource: object, others: readonly Resource[] = []): Promise<readonly string[]> {
  const { issues } = await profileCheckerOf([profile(elements), ...others])(resource as Resource, [PROFILE_URL])
  const ours = issues.filter(({ text }) => !text.includes('dom-6') && (text.includes('http://example.org') || text.includes('not at hand')))
  return ours.map(({ severity, expression, text }) => `${severity} ${expression}: ${text.replace(` (${PROFILE_URL})`, '')}`)
}

const toWhich = (list: string, reason: string): string => `To which slice of ${list} this belongs is not known: ${reason}`

describe('a slice of extensions', () => {
  const elements: readonly ProfileElement[] = [
    { id: 'Patient.extension', slicing: on('value', 'url') },
    { id: 'Patient.extension:own', min: 1, max: '1', type: [{ code: 'Extension', profile: [NOWHERE] }] },
  ]
  const own = { url: NOWHERE, valueString: 'x' }

  it('is recognized by the canonical URL of its definition, loaded or not', async () => {
    expect(await told(elements, { resourceType: 'Patient', extension: [own] })).toEqual([])
    expect(await told(elements, { resourceType: 'Patient', extension: [own, own] })).toEqual([
      'error Patient.extension: There may be at most 1 extension:own',
    ])
    expect(await told(elements, { resourceType: 'Patient' })).toEqual(['error Patient: extension:own is required'])
    expect(await told(elements, { resourceType: 'Patient', extension: [{ ...own, url: `${NOWHERE}2` }] })).toEqual([
      'error Patient.extension: extension:own is required',
    ])
  })
})

describe('a slice by a profile that is not loaded', () => {
  const byProfile: readonly ProfileElement[] = [
    { id: 'Bundle.entry', slicing: { ...on('profile', 'resource'), rules: 'closed' } },
    { id: 'Bundle.entry:own', min: 1, max: '1' },
    { id: 'Bundle.entry:own.resource', min: 1, type: [{ code: 'Patient', profile: [NOWHERE] }] },
    { id: 'Bundle.entry:own.fullUrl', min: 1 },
  ]
  const entry = { resource: { resourceType: 'Patient' } }
  const reason = `information Bundle.entry[0]: ${toWhich('entry', `The profile ${NOWHERE} is not loaded: it was not checked`)}`

  it('gives no error about missing, too many or unmatched entries', async () => {
    expect(await told(byProfile, { resourceType: 'Bundle', entry: [entry] })).toEqual([reason])
    expect(await told(byProfile, { resourceType: 'Bundle', entry: [entry, entry] })).toEqual([reason, reason.replace('[0]', '[1]')])
  })

  it('is missing if there are no entries', async () => {
    expect(await told(byProfile, { resourceType: 'Bundle' })).toEqual(['error Bundle: entry:own is required'])
  })

  it('is decided if another allowed profile matches', async () => {
    const either = byProfile.map((said) =>
      said.id.endsWith('resource') ? { ...said, type: [{ code: 'Patient', profile: [NOWHERE, FITS] }] } : said,
    )
    const right = { fullUrl: 'urn:x', resource: { resourceType: 'Patient', name: [{ text: 'x' }] } }
    expect(await told(either, { resourceType: 'Bundle', entry: [right] }, [named])).toEqual([])
    expect(await told(either, { resourceType: 'Bundle', entry: [entry] }, [named])).toEqual([reason])
  })

  it('is undecided if only that profile defines the discriminating value', async () => {
    const within: readonly ProfileElement[] = [
      { id: 'Patient.contact', slicing: on('value', 'name.family') },
      { id: 'Patient.contact:own', min: 1 },
      { id: 'Patient.contact:own.name', type: [{ code: 'HumanName', profile: [NOWHERE] }] },
    ]
    expect(await told(within, { resourceType: 'Patient', contact: [{ name: { family: 'x' } }] })).toEqual([
      `information Patient.contact[0]: ${toWhich('contact', notLoaded(NOWHERE))}`,
    ])
    const said: readonly ProfileElement[] = [...within, { id: 'Patient.contact:own.name.family', patternString: 'x' }]
    expect(await told(said, { resourceType: 'Patient', contact: [{ name: { text: 'x' } }] })).toEqual([
      'error Patient.contact: contact:own is required, with name.family x',
    ])
  })
})

it('a slice by two elements is undecided only if no known element differs', async () => {
  const discriminator = ['gender', 'name.family'].map((path) => ({ type: 'value', path }))
  const elements: readonly ProfileElement[] = [
    { id: 'Patient.contact', slicing: { discriminator, rules: 'open' } },
    { id: 'Patient.contact:own', min: 1 },
    { id: 'Patient.contact:own.gender', patternCode: 'male' },
    { id: 'Patient.contact:own.name', type: [{ code: 'HumanName', profile: [NOWHERE] }] },
  ]
  const of = (gender: string) => ({ resourceType: 'Patient', contact: [{ gender, name: { family: 'x' } }] })
  expect(await told(elements, of('male'))).toEqual([`information Patient.contact[0]: ${toWhich('contact', notLoaded(NOWHERE))}`])
  expect(await told(elements, of('female'))).toEqual([expect.stringMatching(/^error Patient.contact: contact:own is required/)])
})

it('a slice by a required binding is undecided if the value set is not loaded', async () => {
  const elements = (min: number): readonly ProfileElement[] => [
    { id: 'Patient.meta.tag', slicing: on('value', '$this') },
    { id: 'Patient.meta.tag:own', min, max: '1', binding: { strength: 'required', valueSet: NOWHERE } },
  ]
  const of = (...codes: readonly string[]) => ({
    resourceType: 'Patient',
    meta: { tag: codes.map((code) => ({ system: 'http://example.org/codes', code })) },
  })
  const reason = `the value set ${NOWHERE} is not loaded, or does not say which codes it has`
  const unknown = [0, 1].map((i) => `information Patient.meta.tag[${i}]: ${toWhich('tag', reason)}`)
  expect(await told(elements(1), of('a', 'b'))).toEqual(unknown)
  expect(await told(elements(3), of('a', 'b'))).toEqual([...unknown, 'error Patient.meta.tag: There must be at least 3 tag:own'])
})

describe('a slice by the target of a reference', () => {
  const sliced = (type: string, path: string, canonical: string, more: readonly ProfileElement[] = []): readonly ProfileElement[] => [
    { id: 'Patient.generalPractitioner', slicing: on(type, path) },
    { id: 'Patient.generalPractitioner:own', min: 1, max: '1', type: targets(canonical) },
    ...more,
  ]
  const patient = (reference: string, contained?: object): object => ({
    resourceType: 'Patient',
    generalPractitioner: [{ reference }],
    ...(contained === undefined ? {} : { contained: [{ id: 'c', ...contained }] }),
  })
  const place = 'information Patient.generalPractitioner[0]'
  const list = 'generalPractitioner'

  it.each([
    ['type', 'resolve()', notLoaded(NOWHERE)],
    ['profile', 'resolve()', `The profile ${NOWHERE} is not loaded: it was not checked`],
    ['value', 'resolve().active', notLoaded(NOWHERE)],
    ['exists', 'resolve().active', notLoaded(NOWHERE)],
  ])('is undecided if the profile is not loaded: by %s of %s', async (type, path, reason) => {
    const found = await told(sliced(type, path, NOWHERE), patient('#c', { resourceType: 'Practitioner', active: true }))
    expect(found).toEqual([`${place}: ${toWhich(list, reason)}`])
  })

  it.each([
    ['value', 'resolve().name.text', 'Practitioner/1'],
    ['profile', 'resolve()', 'Patient/1'],
    ['type', 'resolve()', 'urn:uuid:5d3ab1a3-0d8f-4e0f-8bb5-6a4f1a1b1c1d'],
    ['profile', 'resolve()', 'urn:uuid:5d3ab1a3-0d8f-4e0f-8bb5-6a4f1a1b1c1d'],
  ])('is undecided if the target is not available: by %s of %s', async (type, path, reference) => {
    const text = profile([{ id: 'Patient.name.text', min: 1, patternString: 'x' }], 'differential', FITS)
    expect(await told(sliced(type, path, FITS), patient(reference), [text])).toEqual([
      `${place}: ${toWhich(list, 'what it refers to is not at hand')}`,
    ])
  })

  it('is decided if the target is available', async () => {
    const missing = 'error Patient.generalPractitioner: generalPractitioner:own is required'
    expect(await told(sliced('profile', 'resolve()', FITS), patient('#c', { resourceType: 'Patient' }), [named])).toEqual([missing])
    expect(await told(sliced('profile', 'resolve()', FITS), patient('Organization/1'), [named])).toEqual([missing])
    expect(await told(sliced('type', 'resolve()', `${R4_CANONICAL_BASE}Practitioner`), patient('Practitioner/1'))).toEqual([])
  })
})

describe('the target of a reference', () => {
  const about = (...profiles: readonly string[]): readonly ProfileElement[] => [{ id: 'Observation.subject', type: targets(...profiles) }]
  const observation = (contained: object): object => ({
    resourceType: 'Observation',
    subject: { reference: '#c' },
    contained: [{ id: 'c', ...contained }],
  })
  const unknown = [`information Observation.subject: The profile ${NOWHERE} is not loaded: it was not checked`]

  it('is undecided if an allowed profile is not loaded', async () => {
    expect(await told(about(NOWHERE), observation({ resourceType: 'Patient' }))).toEqual(unknown)
    expect(await told(about(NOWHERE, FITS), observation({ resourceType: 'Patient' }), [named])).toEqual(unknown)
    expect(await told(about(FITS, NOWHERE), observation({ resourceType: 'Group' }), [named])).toEqual(unknown)
    expect(await told(about(FITS, NOWHERE), observation({ resourceType: 'Patient', name: [{ text: 'x' }] }), [named])).toEqual([])
    expect(await told(about(FITS, `${R4_CANONICAL_BASE}Device`), observation({ resourceType: 'Patient' }), [named])).toHaveLength(1)
  })

  it('is undecided if its profile names one that is not loaded', async () => {
    const within = profile([{ id: 'Patient.name', type: [{ code: 'HumanName', profile: [NOWHERE] }] }], 'differential', FITS)
    expect(await told(about(FITS), observation({ resourceType: 'Patient', name: [{ text: 'x' }] }), [within])).toEqual(unknown)
  })
})
