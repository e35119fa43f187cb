/** Access of partners: a token of one opens its own Groups only, whatever its scopes name. */
import { describe, expect, it } from '@jest/globals'
import { LISTED_PARTNER_TYPES, withSearchable } from '../../lambdas/access/partner-access.ts'
import { PARTNER_TYPES, REFERENCED_TYPES } from '../../lambdas/access/partner-types.ts'
import { accessOfToken } from '../../lambdas/access/token-access.ts'
import { parseOwnToken } from '../../lambdas/access/verification/token-claims.ts'
import { ANONYMOUS_TOKEN, type VerifiedToken } from '../../lambdas/access/verification/verified-token.ts'
import type { Partner } from '../../lambdas/ports/rows/clients.ts'
import { BASE_URL, createTestIssuer } from './issuing.ts'

const NPI = { system: 'http://hl7.org/fhir/sid/us-npi', value: '1234567893' }
const PAYER: Partner = { kind: 'payer', identifiers: [NPI] }

const accessWith = (scopes: readonly string[], more: Partial<VerifiedToken> = {}) => {
  const own = { client: 'payer', subject: 'payer', clientAuth: 'assertion', scopes, partner: PAYER } as const
  return accessOfToken({ ...ANONYMOUS_TOKEN, ...own, ...more }, { baseUrl: BASE_URL })
}

const accessOf = (...scopes: readonly string[]) => accessWith(scopes)

describe('the access of a partner', () => {
  it('opens the Groups that it matched or that name it, and no other type', () => {
    const { clauses, isAdministrator, partner } = accessOf('system/*.rs')
    expect([isAdministrator, partner?.partner]).toEqual([false, PAYER])
    expect(clauses.map(({ type, letters }) => [type, letters])).toEqual([['Group', ['r', 's']]])
    expect(decodeURIComponent(clauses[0]!.query)).toBe(
      'identifier=urn:fhir-serverless:partner|payer,http://hl7.org/fhir/sid/us-npi|1234567893' +
        '&code:not=http://hl7.org/fhir/us/davinci-pdex/CodeSystem/PdexMultiMemberMatchResultCS|consentconstraint' +
        '&characteristic:not=http://hl7.org/fhir/us/davinci-pdex/CodeSystem/PdexMemberAttributionCS|pdex-member',
    )
  })

  it('gives exports the types of its scopes', () =>
    expect(accessOf('system/Patient.rs', 'system/Group.r').partner?.exported.map(({ type }) => type)).toEqual(['Patient', 'Group']))

  it.each([
    [['system/Group.r'], [['r']]],
    [['system/Patient.rs'], []],
    [['system/Group.rs?identifier=a'], []],
  ])('with the scopes %j has the clauses %j', (scopes, letters) =>
    expect(accessOf(...scopes).clauses.map((clause) => clause.letters)).toEqual(letters),
  )
})

describe('the access of a partner with a member in context', () => {
  const clausesOf = (scopes: readonly string[], more: Partial<VerifiedToken> = {}) =>
    accessWith(scopes, { patient: 'ann', memberLimits: { at: 0, excluded: [] }, ...more })
      .clauses.filter(({ type }) => type !== 'Group')
      .map(({ type, letters, query, within, ids }) => [type, letters.join(''), query, within, ...(ids === undefined ? [] : [ids])])

  it('reads the types that partners receive, of this member', () => {
    const clauses = clausesOf(['system/*.cruds'])
    expect([...new Set(clauses.map(([type]) => type))]).toEqual([...PARTNER_TYPES, ...REFERENCED_TYPES])
    const about = (type: string): string => (['Patient', 'Provenance', ...REFERENCED_TYPES].includes(type) ? '' : 'patient=Patient/ann')
    const expectedOf = (type: string) => {
      const rest = [about(type), ['Patient/ann']]
      const isListed = LISTED_PARTNER_TYPES.includes(type)
      return isListed
        ? [
            [type, 'r', ...rest],
            [type, 's', ...rest, []],
          ]
        : [[type, 'rs', ...rest]]
    }
    expect(clauses).toEqual([...PARTNER_TYPES, ...REFERENCED_TYPES].flatMap(expectedOf))
    expect(accessWith(['system/*.rs'], { patient: 'ann' }).view).toBe('payer')
  })

  it('finds the listed resources of listed types only', () => {
    const limits = { at: 0, excluded: [] }
    const access = accessWith(['system/*.rs'], { patient: 'ann', memberLimits: limits })
    const listed = withSearchable(access, new Map([['Observation', ['1', '2']]])).clauses.flatMap(({ type, ids }) =>
      ids?.length ? [[type, ids]] : [],
    )
    expect([access.partner?.limits, listed]).toEqual([limits, [['Observation', ['1', '2']]]])
  })

  it('has no data of the member without its limits', () =>
    expect(accessWith(['system/*.rs'], { patient: 'ann' }).clauses.map(({ type }) => type)).toEqual(['Group']))

  it('has no data with excluded labels', () =>
    expect(clausesOf(['system/Coverage.r'], { memberLimits: { at: 0, excluded: ['urn:x|a', 'urn:x|b'] } })).toEqual([
      ['Coverage', 'r', 'patient=Patient/ann&_security:not=urn%3Ax%7Ca,urn%3Ax%7Cb', ['Patient/ann']],
    ]))

  it.each([
    ['a type', ['system/Patient.r'], [['Patient', 'r', '', ['Patient/ann']]]],
    ['a condition', ['system/Coverage.rs?status=active'], [['Coverage', 'rs', 'status=active&patient=Patient/ann', ['Patient/ann']]]],
    ['a type that partners do not receive', ['system/Claim.rs', 'system/Consent.rs', 'system/Binary.r'], []],
  ])('is limited by scopes with %s', (_, scopes, expected) => expect(clausesOf(scopes)).toEqual(expected))

  it('is that of the client that a person sees as, and never more than the person may see', () => {
    const person = { client: 'explorer', subject: 'staff', seenAs: 'payer' }
    expect(decodeURIComponent(accessWith(['user/*.rs'], { ...person, fhirUser: 'Practitioner/1' }).clauses[0]!.query)).toContain(
      'partner|payer,',
    )
    const scopes = ['user/*.rs']
    expect(clausesOf(scopes, { ...person, fhirUser: 'Practitioner/1' })).toHaveLength(
      PARTNER_TYPES.length + LISTED_PARTNER_TYPES.length + REFERENCED_TYPES.length,
    )
    expect(clausesOf(scopes, { ...person, fhirUser: 'Patient/bert' })).toEqual([])
    expect(accessWith(scopes, person).clauses).toEqual([])
  })
})

describe('the claims of a partner', () => {
  const issuer = createTestIssuer()
  const claims = (more: object) => parseOwnToken({ ...issuer.claims(), ...more }, 'tenant', issuer.now)

  it('give its kind and identifiers', () =>
    expect(claims({ partner: 'payer', partner_identifiers: [`${NPI.system}|${NPI.value}`] }).facts.partner).toEqual(PAYER))

  it('give the limits of the data of the member', () =>
    expect(claims({ member_limits: { at: 2, since: 1, excluded: ['a|b'] } }).facts.memberLimits).toEqual({
      ...{ at: 2, windowStart: 1, excluded: ['a|b'] },
    }))

  it.each([true, {}, { at: '1' }, { at: 1, since: '1' }, { at: 1, excluded: 'a' }, { at: 1, excluded: [1] }])(
    'reject malformed limits: %j',
    (limits) => expect(() => claims({ member_limits: limits })).toThrow('claim member_limits'),
  )

  it.each([
    [{ partner: 'bank', partner_identifiers: ['a|b'] }],
    [{ partner: true, partner_identifiers: ['a|b'] }],
    [{ partner: 'payer' }],
    [{ partner: 'payer', partner_identifiers: [] }],
    [{ partner: 'payer', partner_identifiers: 'a|b' }],
    [{ partner: 'payer', partner_identifiers: ['a'] }],
    [{ partner: 'payer', partner_identifiers: ['a|b|c'] }],
  ])('are rejected if malformed: %j', (more) => expect(() => claims(more)).toThrow('claim partner'))
})
