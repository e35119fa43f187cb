/** Whom a token is about, by what it says of its user. */
import { expect, it } from '@jest/globals'
import { accessOfToken } from '../../lambdas/access/token-access.ts'
import { ANONYMOUS_TOKEN, type VerifiedToken } from '../../lambdas/access/verification/verified-token.ts'
import { BASE_URL } from './issuing.ts'

const ofUser: VerifiedToken = { ...ANONYMOUS_TOKEN, client: 'app', subject: 'ann' }
const withinOf = (token: VerifiedToken) => accessOfToken(token, { baseUrl: BASE_URL }).clauses.map(({ within = 'all' }) => within)

it.each([
  ['a user without fhirUser', { ...ofUser, scopes: ['user/*.rs'] }, [[]]],
  ['a user without fhirUser, with a patient', { ...ofUser, scopes: ['patient/*.rs', 'user/*.rs'], patient: 'a' }, [['Patient/a'], []]],
  ['staff', { ...ofUser, scopes: ['user/*.rs'], fhirUser: 'Practitioner/1' }, ['all']],
  ['a patient', { ...ofUser, scopes: ['user/*.rs'], fhirUser: 'Patient/a' }, [['Patient/a']]],
  ['a client itself', { ...ofUser, subject: 'app', scopes: ['system/*.rs', 'patient/*.rs'] }, ['all', 'all']],
  ['a client itself, with a patient', { ...ofUser, subject: 'app', scopes: ['patient/*.rs'], patient: 'a' }, [['Patient/a']]],
])('the access of %s is limited to its patients', (_, token, within) => expect(withinOf(token)).toEqual(within))
