/** Access of partners: a token of one opens its own Groups only, whatever its scopes name. */
import { describe, expect, it } from '@jest/globals'
import { accessOfToken } from '../../lambdas/access/token-access.ts'
import { parseOwnToken } from '../../lambdas/access/verification/token-claims.ts'
import { ANONYMOUS_TOKEN, type VerifiedToken } from '../../lambdas/access/verification/verified-token.ts'
import type { Partner } from '../../lambdas/ports/rows/clients.ts'
import { BASE_URL, createTestIssuer } from './issuing.ts'

const NPI = { system: 'http://hl7.org/fhir/sid/us-npi', value: '1234567893' }
const PAYER: Partner = { kind: 'payer', identifiers: [NPI] }

const accessOf = (...scopes: readonly string[]) => {
  const token: VerifiedToken = { ...ANONYMOUS_TOKEN, client: 'payer', subject: 'payer', clientAuth: 'assertion', scopes, partner: PAYER }
  return accessOfToken(token, { baseUrl: BASE_URL })
}

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

describe('the claims of a partner', () => {
  const issuer = createTestIssuer()
  const claims = (more: object) => parseOwnToken({ ...issuer.claims(), ...more }, 'tenant', issuer.now)

  it('give its kind and identifiers', () =>
    expect(claims({ partner: 'payer', partner_identifiers: [`${NPI.system}|${NPI.value}`] }).facts.partner).toEqual(PAYER))

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
