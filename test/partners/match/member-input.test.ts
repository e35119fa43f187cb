/** Input of `$member-match`: what is read of it, and what is rejected with which place. */
import { describe, expect, it } from '@jest/globals'
import { FhirError } from '../../../lambdas/fhir/outcome.ts'
import { validate } from '../../../lambdas/fhir/validate/validate.ts'
import { memberInputOf } from '../../../lambdas/partners/match/member-input.ts'
import { matchExample } from '../../fixtures/payer/match-examples.ts'
import type { Tree } from '../../fixtures/resources.ts'
import { memberNumber } from '../member-store.ts'

const EXAMPLE = 'member-match-in'
const OPTIONS = { needsConsent: true, structureIssuesOf: (resource: unknown) => validate(resource) }

const read = (body: Tree, needsConsent = true) => memberInputOf(body, { ...OPTIONS, needsConsent })

/** Returns the status, then `code place` of each issue. */
async function rejected(body: Tree): Promise<readonly unknown[]> {
  try {
    await read(body)
  } catch (error) {
    if (!(error instanceof FhirError)) throw error
    return [error.status, ...error.issues.map(({ code, expression }) => `${code} ${expression}`)]
  }
  return []
}

/** Returns the example with one of its resources changed. */
function changed(name: string, change: (resource: Tree) => void): Tree {
  const body = matchExample(EXAMPLE)
  change(body.parameter.find((each: Tree) => each.name === name).resource)
  return JSON.parse(JSON.stringify(body))
}
const patientWith = (fields: Tree): Tree => changed('MemberPatient', (patient) => Object.assign(patient, fields))
const coverageWith = (fields: Tree): Tree => changed('CoverageToMatch', (coverage) => Object.assign(coverage, fields))
const [PATIENT, COVERAGE] = ['Parameters.parameter[0].resource', 'Parameters.parameter[1].resource']

describe('the input of $member-match', () => {
  it('has the person, the card and the parts of the example of HRex', async () => {
    const { person, patient, coverage, coverageToLink, consent, ignored } = await read(matchExample(EXAMPLE))
    const number = { system: 'http://example.org/old-payer', value: 'DH10001235' }
    expect(person).toEqual({
      names: [{ family: 'person', given: [{ whole: 'patricia' }] }],
      birthDate: '1974-12-25',
      gender: 'female',
      card: { identifiers: [number], memberIdentifiers: [number] },
    })
    expect([patient, coverage, coverageToLink, consent].map((part) => `${part?.resource.resourceType} ${part?.place}`)).toEqual([
      'Patient Parameters.parameter[0].resource',
      'Coverage Parameters.parameter[1].resource',
      'Coverage Parameters.parameter[2].resource',
      'Consent Parameters.parameter[3].resource',
    ])
    expect(ignored).toEqual([])
  })

  it('has no CoverageToLink from a provider', async () => {
    const { coverageToLink, consent } = await read(matchExample('member-match-in-provider'))
    expect([coverageToLink, consent?.resource.resourceType]).toEqual([undefined, 'Consent'])
  })

  it.each(['payer-multi-member-match-in', 'provider-member-match-request-001'])('reads each member of %s', async (id) => {
    for (const { part } of matchExample(id).parameter) {
      const { person } = await read({ resourceType: 'Parameters', parameter: part })
      expect([person.names.length, person.card.subscriberId]).toEqual([1, part[1].resource.subscriberId])
    }
  })

  it('needs no Consent if none is required', async () => {
    const body = matchExample(EXAMPLE)
    body.parameter = body.parameter.slice(0, 2)
    expect((await read(body, false)).consent).toBeUndefined()
    expect(await rejected(body)).toEqual([400, 'required Parameters.parameter'])
  })

  it('accepts the birth sex of US Core in place of a gender', async () => {
    const extension = [{ url: 'http://hl7.org/fhir/us/core/StructureDefinition/us-core-birthsex', valueCode: 'F' }]
    const { person } = await read(patientWith({ gender: undefined, extension }))
    expect([person.gender, person.birthSex]).toEqual([undefined, 'F'])
  })

  it('compares neither an unknown gender nor an unknown birth sex', async () => {
    const extension = [{ url: 'http://hl7.org/fhir/us/core/StructureDefinition/us-core-birthsex', valueCode: 'UNK' }]
    const { person } = await read(patientWith({ gender: 'unknown', extension }))
    expect([person.gender, person.birthSex]).toEqual([undefined, undefined])
  })

  it('keeps blanks, dots and leading zeros of member numbers', async () => {
    const { person } = await read(coverageWith({ identifier: [memberNumber('00 12.3')], subscriberId: '007' }))
    expect([person.card.identifiers[0]?.value, person.card.subscriberId]).toEqual(['00 12.3', '007'])
  })

  it('compares identifiers without a type, and none of another type', async () => {
    const coded = { coding: [{ system: 'http://terminology.hl7.org/CodeSystem/v2-0203', code: 'MR' }] }
    const identifier = [{ value: '1' }, { type: coded, value: '2' }]
    expect((await read(coverageWith({ identifier }))).person.card.identifiers).toEqual([{ value: '1' }])
  })

  it('compares the first 20 names and 50 identifiers, and reports the rest', async () => {
    const body = patientWith({ name: Array.from({ length: 10_000 }, (_, i) => ({ family: `F${i}`, given: ['G'] })) })
    body.parameter[1].resource.identifier = Array.from({ length: 51 }, (_, i) => memberNumber(String(i)))
    const { person, ignored } = await read(body)
    expect([person.names.length, person.card.identifiers.length]).toEqual([20, 50])
    expect(ignored.map(({ severity, text, expression }) => `${severity} ${text} ${expression}`)).toEqual([
      `information The first 20 are compared, and 9980 are ignored ${PATIENT}.name`,
      `information The first 50 are compared, and 1 are ignored ${COVERAGE}.identifier`,
    ])
  })

  it('compares names up to 12,000 characters in total, and reports the others', async () => {
    // Folding turns this ligature into 18 characters.
    const long = { family: 'Long', given: ['\uFDFA'.repeat(300_000)] }
    const { person, ignored } = await read(
      patientWith({ name: [{ family: 'First', given: ['A'] }, long, { family: 'Last', given: ['B'] }] }),
    )
    expect(person.names.map(({ family }) => family)).toEqual(['first'])
    expect(ignored.map(({ text, expression }) => `${text} ${expression}`)).toEqual([
      `The names are compared up to 12000 characters in total, and the others are ignored ${PATIENT}.name`,
    ])
    expect(await rejected(patientWith({ name: [long] }))).toEqual([400, `required ${PATIENT}.name`])
  })

  it('accepts a name of 10,000 characters', async () => {
    const { person } = await read(patientWith({ name: [{ family: 'x'.repeat(10_000), given: ['Y'] }] }))
    expect(person.names[0]?.family).toHaveLength(10_000)
  })

  it.each<[what: string, body: () => Tree, ...expected: string[]]>([
    ['no Parameters', () => ({ resourceType: 'Bundle' }), 'structure undefined'],
    ['no parameter', () => ({ resourceType: 'Parameters' }), ...Array<string>(3).fill('required Parameters.parameter')],
    ['parameters that are no list', () => ({ resourceType: 'Parameters', parameter: {} }), 'structure Parameters.parameter'],
    [
      'a parameter twice',
      () => {
        const body = matchExample(EXAMPLE)
        return { ...body, parameter: [...body.parameter, body.parameter[0]] }
      },
      'duplicate Parameters.parameter[4]',
    ],
    [
      'an unknown parameter',
      () => {
        const body = matchExample(EXAMPLE)
        return { ...body, parameter: [...body.parameter, { name: 'Consents', valueString: 'x' }] }
      },
      'not-supported Parameters.parameter[4]',
    ],
    [
      'a Patient in place of a Coverage',
      () => {
        const body = matchExample(EXAMPLE)
        body.parameter[1].resource = body.parameter[0].resource
        return body
      },
      'structure Parameters.parameter[1]',
    ],
    [
      'a value in place of a resource',
      () => {
        const body = matchExample(EXAMPLE)
        body.parameter[0] = { name: 'MemberPatient', valueString: 'x' }
        return body
      },
      'structure Parameters.parameter[0]',
    ],
    ['no name', () => patientWith({ name: undefined }), `required ${PATIENT}.name`],
    ['a family alone', () => patientWith({ name: [{ family: 'Person' }] }), `required ${PATIENT}.name`],
    ['given names alone', () => patientWith({ name: [{ given: ['Ann'] }] }), `required ${PATIENT}.name`],
    ['a name without letters', () => patientWith({ name: [{ family: '--', given: ['Ann'] }] }), `required ${PATIENT}.name`],
    ['a family that is no text', () => patientWith({ name: [{ family: 1, given: ['Ann'] }] }), `value ${PATIENT}.name[0].family`],
    ['no date of birth', () => patientWith({ birthDate: undefined }), `required ${PATIENT}.birthDate`],
    ['a month of birth', () => patientWith({ birthDate: '1974-12' }), `required ${PATIENT}.birthDate`],
    ['no date', () => patientWith({ birthDate: '1974-13-40' }), `value ${PATIENT}.birthDate`],
    ['no gender', () => patientWith({ gender: undefined }), `required ${PATIENT}.gender`],
    ['an unknown gender code', () => patientWith({ gender: 'f' }), `code-invalid ${PATIENT}.gender`],
    ['an id with #', () => patientWith({ id: '#1' }), `value ${PATIENT}.id`],
    [
      'a contained resource with labels',
      () =>
        patientWith({
          managingOrganization: { reference: '#o' },
          contained: [{ resourceType: 'Organization', id: 'o', name: 'O', meta: { security: [{ code: 'R' }] } }],
        }),
      `invariant ${PATIENT}.contained[0]`,
    ],
    ['no number of the card', () => coverageWith({ identifier: undefined }), `required ${COVERAGE}`],
    ['a blank subscriberId', () => coverageWith({ identifier: undefined, subscriberId: ' ' }), `required ${COVERAGE}`],
    [
      'a Consent without a scope',
      () => changed('Consent', (consent) => Object.assign(consent, { scope: undefined })),
      'required Parameters.parameter[3].resource',
    ],
    [
      'several missing elements',
      () => patientWith({ name: undefined, birthDate: undefined, gender: undefined }),
      `required ${PATIENT}.name`,
      `required ${PATIENT}.birthDate`,
      `required ${PATIENT}.gender`,
    ],
  ])('is rejected with %s', async (_, body, ...expected) => {
    expect(await rejected(body())).toEqual([400, ...expected])
  })
})
