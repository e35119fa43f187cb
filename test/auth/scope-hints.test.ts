/** What is out of scope is refused with a scope that would allow it: one that who asks could be given. */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import type { Caller } from './isolation/oracle.ts'
import { openSite, type Site } from './site.ts'

let site: Site

beforeAll(async () => {
  site = await openSite()
})

afterAll(() => site.close())

const hintOf = async (who: Partial<Caller>, target: string): Promise<readonly unknown[]> => {
  const { status, headers, body } = await site.ask({ tenant: 'a', client: 'app', scopes: '', ...who }, 'GET', target)
  return [status, headers['www-authenticate'], body.issue[0].details?.text ?? body.issue[0].diagnostics]
}

const hint = (scope: string) => [
  403,
  `Bearer error="insufficient_scope", scope="${scope}"`,
  `This needs a scope for ${scope.split('/')[1]}, such as ${scope}`,
]

const USER = { isUser: true, fhirUser: 'Practitioner/1' }

it.each<[string, Partial<Caller>, string]>([
  ['a program', { scopes: 'system/Patient.rs' }, 'system/'],
  ['a program with patient scopes', { scopes: 'patient/Patient.rs' }, 'patient/'],
  ['a user', { ...USER, scopes: 'openid user/Patient.rs' }, 'user/'],
  ['the app of a patient', { ...USER, patient: '1', scopes: 'launch/patient patient/Patient.rs' }, 'patient/'],
  ['a user with user and patient scopes', { ...USER, patient: '1', scopes: 'user/Patient.rs patient/Encounter.rs' }, 'patient/'],
  ['a user without data scopes', { ...USER, scopes: 'openid' }, 'user/'],
])('the hint for %s names a scope of the same context', async (_, who, context) => {
  expect(await hintOf(who, '/Condition/1')).toEqual(hint(`${context}Condition.r`))
  expect(await hintOf(who, '/Condition?code=a')).toEqual(hint(`${context}Condition.s`))
})

it('the hint names the chained type, and system/admin for administration', async () => {
  const who = { ...USER, scopes: 'user/Observation.rs' }
  expect(await hintOf(who, '/Observation?patient.name=a')).toEqual(hint('user/Patient.s'))
  expect((await hintOf(who, '/$reindex-status')).slice(0, 2)).toEqual([403, 'Bearer error="insufficient_scope", scope="system/admin"'])
})
