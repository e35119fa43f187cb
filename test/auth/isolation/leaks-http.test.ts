/** Over HTTP, with tokens of the server's own key: HEAD, what is compressed, and what is asked in other ways than by JSON tell no more. */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import type { EmbeddedServer } from '../../../lambdas/runtime/embedded/server.ts'
import { clientOf, startServer, type TestClient } from '../../api/server.ts'
import { anyToken } from './any-token.ts'
import { observation } from './population.ts'

const ISSUER = 'http://127.0.0.1/fhir'
let embedded: EmbeddedServer
let patient: TestClient

beforeAll(async () => {
  const started = await startServer({ FHIR_ACCESS: 'token' })
  embedded = started.embedded
  const operator = await embedded.issue({ isAdministrator: true })
  const token = await anyToken(embedded, ISSUER, { scope: 'patient/*.cruds', patient: 'a' })
  const all = clientOf(
    () => started.base,
    () => operator,
  )
  patient = clientOf(
    () => started.base,
    () => token,
  )
  for (const id of ['a', 'b']) expect((await all.put(`/Patient/${id}`, { resourceType: 'Patient', id })).status).toBe(201)
  for (const [id, of] of [
    ['mine', 'a'],
    ['hide', 'b'],
  ] as const) {
    const body = observation('laboratory', { id, subject: { reference: `Patient/${of}` }, note: [{ text: `MARK of ${of} `.repeat(500) }] })
    expect((await all.put(`/Observation/${id}`, body)).status).toBe(201)
    const headers = { 'content-type': 'text/plain', 'x-security-context': `Observation/${id}` }
    expect((await all.put(`/Binary/${id}`, Buffer.from(`MARK of ${of}`), headers)).status).toBe(201)
  }
})
afterAll(() => embedded.close())

const said = async (response: Response) => {
  const { date: _, 'x-request-id': __, ...headers } = Object.fromEntries(response.headers)
  return { status: response.status, headers, text: await response.text() }
}

it.each(['HEAD', 'GET'])('%s of a hidden resource equals that of an unknown one', async (method) => {
  for (const target of ['/Observation/hide', '/Observation/hide/_history/1', '/Binary/hide', '/Observation/hide?_summary=text'])
    for (const headers of [
      {},
      { 'if-none-match': 'W/"1"' },
      { 'accept-encoding': 'gzip' },
      { accept: 'text/plain, application/fhir+json' },
    ]) {
      const hidden = await said(await patient.raw(target, { method, headers }))
      const never = await said(await patient.raw(target.replace('hide', 'none'), { method, headers }))
      expect(hidden.status).toBe(404)
      expect(hidden).toEqual({ ...never, text: never.text.replace('none', 'hide') })
    }
})

it('a visible resource is read, raw too', async () => {
  expect((await patient.raw('/Observation/mine', { method: 'HEAD' })).status).toBe(200)
  expect((await patient.get('/Observation/mine')).text).toContain('MARK of a')
  const { status, text } = await patient.get('/Binary/mine', { accept: 'text/plain' })
  expect([status, text]).toEqual([200, 'MARK of a'])
})

it.each([
  ['Observation/mine', 201],
  ['Observation/hide', 403],
  ['Patient/a', 201],
  ['Patient/b', 403],
  [`${ISSUER}/Patient/a`, 201],
  [`${ISSUER}/Patient/b`, 403],
  ['https://elsewhere.example/fhir/Patient/a', 403],
  [undefined, 403],
])('a Binary with the security context %s is answered %d', async (context, status) => {
  const headers = { 'content-type': 'text/plain', ...(context === undefined ? {} : { 'x-security-context': context }) }
  const answer = await patient.post('/Binary', Buffer.from('x'), headers)
  expect(answer.status).toBe(status)
  expect(answer.text).not.toContain('MARK')
})
