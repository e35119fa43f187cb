/** Every form of slicing, each with ten invalid and ten valid resources. https://hl7.org/fhir/R4/profiling.html#slicing */
import { describe, expect, it } from '@jest/globals'
import {
  findErrors,
  PROFILE_FORMS,
  type ProfileElement,
  profile,
  profileCheckerOf,
  R4_CANONICAL_BASE,
} from '../../fixtures/profiles/checking.ts'
import { SLICING_SECTIONS } from '../../fixtures/profiles/slicings.ts'

for (const section of SLICING_SECTIONS)
  describe(`slicing: ${section.name}`, () => {
    it('has ten invalid and ten valid resources', () => {
      expect([section.faulty.length, section.valid.length]).toEqual([10, 10])
    })

    describe.each(PROFILE_FORMS)('as a %s', (form) => {
      const find = profileCheckerOf([profile(section.elements, form), ...(section.others ?? [])])

      it.each(section.faulty)('rejects %s', async (words, ...expected) => {
        expect(await findErrors(find, section.resourceOf(wordsIn(words)))).toEqual(expected)
      })

      it.each(section.valid.map((words) => [words]))('accepts %s', async (words) => {
        expect(await findErrors(find, section.resourceOf(wordsIn(words)))).toEqual([])
      })
    })
  })

const wordsIn = (words: string): readonly string[] => words.split(' ').filter((word) => word !== '')

describe('slices without a slicing', () => {
  const choice: readonly ProfileElement[] = [
    { id: 'Observation.valueQuantity', min: 1 },
    { id: 'Observation.valueQuantity.code', min: 1 },
  ]

  it('are assigned by type for a choice', async () => {
    const find = profileCheckerOf([profile(choice)])
    expect(await findErrors(find, { resourceType: 'Observation', valueString: 'x' })).toEqual(['Observation.value: valueQuantity<1'])
    expect(await findErrors(find, { resourceType: 'Observation', valueQuantity: {} })).toEqual(['Observation.value: code is required'])
    expect(await findErrors(find, { resourceType: 'Observation', valueQuantity: { code: 'x' } })).toEqual([])
  })

  it('are assigned by definition for extensions', async () => {
    const elements: readonly ProfileElement[] = [
      { id: 'Patient.extension:own', min: 1, type: [{ code: 'Extension', profile: ['http://example.org/own'] }] },
    ]
    const own: readonly ProfileElement[] = [
      { id: 'Extension.url', fixedUri: 'http://example.org/own' },
      { id: 'Extension.value[x]', min: 1 },
    ]
    const find = profileCheckerOf([profile(elements), profile(own, 'differential', 'http://example.org/own')])
    expect(await findErrors(find, { resourceType: 'Patient' })).toEqual(['Patient: own<1'])
    expect(await findErrors(find, { resourceType: 'Patient', extension: [{ url: 'http://example.org/own' }] })).toEqual([
      'Patient.extension[0]: value is required',
    ])
    expect(await findErrors(find, { resourceType: 'Patient', extension: [{ url: 'http://example.org/own', valueCode: 'x' }] })).toEqual([])
  })
})

it('a derived profile may narrow a slice of its base profile', async () => {
  const first = profile(SLICING_SECTIONS[0]!.elements, 'differential', 'http://example.org/first')
  const second = profile(
    [{ id: 'Patient.identifier:ssn', min: 1 }],
    'differential',
    'http://example.org/second',
    'http://example.org/first',
  )
  const find = profileCheckerOf([first, second])
  expect(await findErrors(find, SLICING_SECTIONS[0]!.resourceOf(['m']), 'http://example.org/second')).toEqual(['Patient.identifier: ssn<1'])
  expect(await findErrors(find, SLICING_SECTIONS[0]!.resourceOf(['m', 's']), 'http://example.org/second')).toEqual([])
  expect(first.baseDefinition).toBe(`${R4_CANONICAL_BASE}Patient`)
})
