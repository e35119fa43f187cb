/** What is recorded of a request fits into the room that was kept for it, and says what was written. */
import { expect, it } from '@jest/globals'
import type { VerifiedToken } from '../../lambdas/access/verification/verified-token.ts'
import { auditRecordOf } from '../../lambdas/http/audit-record.ts'
import type { Exchange } from '../../lambdas/http/exchange.ts'
import { longestRecord } from '../../lambdas/ports/security/audit-log.ts'

const ENDED = { at: Date.UTC(9_999, 0), status: 200, duration: 1e15 }
const ID = 'i'.repeat(64)
const TYPE = 'SubstanceReferenceInformation'

const exchangeOf = (interaction: string, writes: number, text: string): Exchange => {
  const token = { client: text, subject: text, user: text, patient: text, scopes: [text, text], issuer: 'i' } as unknown as VerifiedToken
  const written = Array.from({ length: writes }, (_, i) => ({
    ...{ tenant: 't', type: TYPE, id: `${ID}${i}`.slice(-64), versionId: 1 },
    compartments: [`Patient/${`${ID}${i}`.slice(-64)}`],
  }))
  const caller = { tenant: 't'.repeat(64) }
  const noted = { outcome: 'temporarily_unavailable' }
  return {
    interaction,
    requestId: 'r'.repeat(128),
    caller,
    token,
    noted,
    written,
    about: [],
    fhir: { type: TYPE, id: ID },
    http: { path: '/auth/token', address: text },
  } as unknown as Exchange
}

it.each(['bundle', 'update', 'token'])('a record of %s never exceeds its reserved length, whatever the token holds', (interaction) => {
  for (const text of ['', 'a"\\'.repeat(9_000), '\u0000\ud800'.repeat(9_000), 'ä💊'.repeat(9_000)])
    for (const writes of [0, 1, 2, 5_000]) {
      const record = auditRecordOf(exchangeOf(interaction, writes, text), ENDED)
      const line = JSON.stringify({ ...record, at: new Date(record.at).toISOString() })
      expect(Buffer.byteLength(line)).toBeLessThanOrEqual(longestRecord(interaction))
    }
})

it('a record names the client as in the token, shortened beyond the usual length', () => {
  const record = auditRecordOf(exchangeOf('read', 0, 'app@https://auth.example/ä'), ENDED)
  expect(record).toMatchObject({ client: 'app@https://auth.example/ä', scopes: 'app@https://auth.example/ä app@https://auth.example/ä' })
  const long = auditRecordOf(exchangeOf('read', 0, `app"${'x'.repeat(600)}`), ENDED)
  expect(long.client).toMatch(/^app_x{491}\.\.\.$/)
})

it('a record names the resource of the URL, or the written ones and their number', () => {
  const keys = (interaction: string, writes: number) => {
    const { key, keys, written } = auditRecordOf(exchangeOf(interaction, writes, ''), ENDED)
    return { key, keys: keys?.length, written, first: keys?.[0] }
  }
  expect(keys('read', 0)).toEqual({ key: `${TYPE}/${ID}` })
  expect(keys('create', 1)).toEqual({ key: `${TYPE}/${`${ID}0`.slice(-64)}` })
  expect(keys('bundle', 0)).toEqual({})
  expect(keys('bundle', 2)).toEqual({ keys: 2, written: 2, first: `${TYPE}/${`${ID}0`.slice(-64)}` })
  expect(keys('bundle', 5_000)).toMatchObject({ keys: 515, written: 5_000 })
})

it('a record holds the client address for the authorization server only', () => {
  const of = (path: string) =>
    auditRecordOf({ ...exchangeOf('read', 0, ''), http: { path, address: '192.0.2.1' } } as unknown as Exchange, ENDED)
  expect([of('/auth/login').address, of('/Patient/1').address]).toEqual(['192.0.2.1', undefined])
})

it.each<[query: string, patients: readonly string[] | undefined]>([
  ['patient=1,Patient/2,http://example.org/fhir/Patient/3', ['Patient/1', 'Patient/2', 'Patient/3']],
  ['subject=1&subject:Patient=2&subject=Group/3', ['Patient/1', 'Patient/2']],
  ['patient=Patient/1/_history/2', ['Patient/1']],
  ['patient._id=1&subject:Patient._id=2&encounter.subject=3', ['Patient/1', 'Patient/2', 'Patient/3']],
  [`patient=${'1,'.repeat(9_999)}2`, ['Patient/1', 'Patient/2']],
  [`${'unknown=1&'.repeat(9_999)}patient=1`, ['Patient/1']],
  ['code=Patient,Patient/1', ['Patient/1']],
  ['code=1&_id=2&patient.name=3&patients=4&subject:missing=true&patient=', undefined],
])('a record names the patients of the criteria: %#', (query, patients) => {
  const fhir = { type: 'Observation', parameters: [...new URLSearchParams(query)] }
  expect(auditRecordOf({ ...exchangeOf('search-type', 0, ''), fhir } as unknown as Exchange, ENDED).patients).toEqual(patients)
})
