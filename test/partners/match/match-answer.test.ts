/** Responses of `$member-match`. */
import { describe, expect, it } from '@jest/globals'
import { validate } from '../../../lambdas/fhir/validate/validate.ts'
import { consentNotComplied, memberAnswerOf, memberIdentifierOf, noMemberMatched } from '../../../lambdas/partners/match/match-answer.ts'
import { MATCH_DEFINITIONS, matchExample } from '../../fixtures/payer/match-examples.ts'
import { findErrors, profileCheckerOf } from '../../fixtures/profiles/checking.ts'
import { patient, type Tree } from '../../fixtures/resources.ts'
import { memberNumber } from '../member-store.ts'

const HREX = 'http://hl7.org/fhir/us/davinci-hrex'
const UMB = { coding: [{ system: `${HREX}/CodeSystem/hrex-temp`, code: 'UMB' }] }
const unique = (value: string): Tree => ({ type: UMB, system: 'http://payer', value })

describe('the identifier of a member', () => {
  it.each<[what: string, identifier: readonly Tree[] | undefined, expected: Tree]>([
    ['type UMB', [{ system: 's', value: '1' }, memberNumber('2'), unique('3')], unique('3')],
    ['type MB', [{ system: 's', value: '1' }, memberNumber('2', 's')], { type: UMB, system: 's', value: '2' }],
    [
      'a system',
      [{ value: '0' }, { system: 's', value: '1', assigner: { display: 'A' } }],
      { type: UMB, system: 's', value: '1', assigner: { display: 'A' } },
    ],
    [
      'a value',
      [
        { type: UMB, system: 's' },
        { system: 't', value: '1' },
      ],
      { type: UMB, system: 't', value: '1' },
    ],
    ['nothing usable', [{ value: '1' }, { system: 's' }], undefined],
    ['no identifier', undefined, undefined],
  ])('is the one with %s', (_, identifier, expected) => expect(memberIdentifierOf(patient('p', { identifier }))).toEqual(expected))
})

describe('the response', () => {
  it('names the member as the profile of HRex has it', async () => {
    const answer = memberAnswerOf(patient('p', { identifier: [unique('3')] }))
    expect(answer).toEqual({
      resourceType: 'Parameters',
      parameter: [
        { name: 'MemberIdentifier', valueIdentifier: unique('3') },
        { name: 'MemberId', valueReference: { reference: 'Patient/p' } },
      ],
    })
    const find = profileCheckerOf(MATCH_DEFINITIONS)
    const profile = `${HREX}/StructureDefinition/hrex-parameters-member-match-out`
    expect(validate(answer)).toEqual([])
    expect(await findErrors(find, answer, profile)).toEqual([])
    expect(await findErrors(find, matchExample('member-match-out'), profile)).toEqual([])
    expect(await findErrors(find, { ...answer, parameter: (answer.parameter as Tree).slice(1) }, profile)).not.toEqual([])
  })

  it('is that of no match for a member without an identifier', () => {
    expect(() => memberAnswerOf(patient('p'))).toThrow(noMemberMatched('no match').message)
  })

  it('has status 422, and the same text for every member that is not matched', () => {
    expect(
      [noMemberMatched('no match'), consentNotComplied()].map(({ status, issues }) => [status, issues[0]?.code, issues[0]?.text]),
    ).toEqual([
      [422, 'not-found', 'No member was matched'],
      [422, 'business-rule', 'The consent could not be complied with'],
    ])
  })
})
