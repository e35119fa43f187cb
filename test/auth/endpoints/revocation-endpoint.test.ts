/** Specification 5.4 and 7: revocation, and its statuses. */
import { beforeAll, beforeEach, expect, it } from '@jest/globals'
import { CLIENT_SECRET, createAuthorization, type TestAuthorization } from '../authorization.ts'

let auth: TestAuthorization

const AS = (id: string) => ({ client_id: id, client_secret: CLIENT_SECRET })
const tokenOf = async (id: string): Promise<string> =>
  (await auth.ask('POST', '/auth/token', { form: { ...AS(id), grant_type: 'client_credentials' } })).body.access_token
const revoke = (form: Record<string, string>) => auth.ask('POST', '/auth/revoke', { form })
const isActive = async (token: string): Promise<boolean> =>
  (await auth.ask('POST', '/auth/introspect', { form: { ...AS('app'), token } })).body.active

beforeAll(async () => {
  auth = await createAuthorization()
  await auth.addClient('app')
  await auth.addClient('other')
})

beforeEach(() => void auth.audited.splice(0))

it('revokes a token of the client, and no other', async () => {
  const revoked = auth.revocations.size
  const [token, beside] = [await tokenOf('app'), await tokenOf('app')]
  const { status, headers, text } = await revoke({ ...AS('app'), token, token_type_hint: 'access_token' })
  expect([status, headers['cache-control'], text]).toEqual([200, 'no-store', ''])
  expect([await isActive(token), await isActive(beside)]).toEqual([false, true])
  expect(auth.audited[2]).toMatchObject({ interaction: 'revoke', client: 'app', status: 200, outcome: 'revoked' })
  expect((await revoke({ ...AS('app'), token })).status).toBe(200)
  expect(auth.revocations.size).toBe(revoked + 1)
})

it('returns 200 for unknown and foreign tokens, and revokes nothing', async () => {
  const revoked = auth.revocations.size
  const token = await tokenOf('app')
  for (const unknown of ['abc', `${token}x`, 'a.b.c']) expect((await revoke({ ...AS('app'), token: unknown })).status).toBe(200)
  expect((await revoke({ ...AS('other'), token })).status).toBe(200)
  expect([await isActive(token), auth.revocations.size]).toEqual([true, revoked])
})

it.each([
  ['a wrong secret', { client_id: 'app', client_secret: 'wrong', token: 'a' }, 'invalid_client'],
  ['an unknown client', { client_id: 'nobody', client_secret: CLIENT_SECRET, token: 'a' }, 'invalid_client'],
  ['no secret', { client_id: 'app', token: 'a' }, 'invalid_client'],
  ['no client', { token: 'a' }, 'invalid_request'],
  ['no token', { client_id: 'app', client_secret: CLIENT_SECRET }, 'invalid_request'],
])('rejects %s with 400', async (_, form, error) => {
  expect(await revoke(form)).toMatchObject({ status: 400, body: { error } })
  expect(auth.audited).toMatchObject([{ interaction: 'revoke', status: 400, outcome: error }])
})
