/** The records of a request: none is longer than a record may be, and together they name everything. */
import { expect, it } from '@jest/globals'
import type { VerifiedToken } from '../../lambdas/access/verification/verified-token.ts'
import { AesSeal } from '../../lambdas/adapters/in-process/seal.ts'
import { columnOf, type HttpFunction, INTERACTIONS, type InteractionCode } from '../../lambdas/catalogue/catalogue.ts'
import { FUNCTIONS, functionOf } from '../../lambdas/functions/functions.ts'
import { auditRecordsOf } from '../../lambdas/http/audit-record.ts'
import type { Exchange } from '../../lambdas/http/exchange.ts'
import { CRITERIA, queryRecorder } from '../../lambdas/http/query-recorder.ts'
import { type AuditRecord, MAX_AUDIT_RECORD_BYTES, reservedBytesOf } from '../../lambdas/ports/security/audit-log.ts'

const ENDED = { at: Date.UTC(9_999, 0), status: 200, duration: 1e15 }
const ID = 'i'.repeat(64)
const TYPE = 'SubstanceReferenceInformation'

const RECORDER = queryRecorder(new AesSeal(new Uint8Array(32)))
const recordsOf = (exchange: Exchange) => auditRecordsOf(exchange, ENDED, RECORDER)
const recordOf = (exchange: Exchange): AuditRecord => {
  const [record, ...others] = recordsOf(exchange)
  expect(others).toEqual([])
  return record
}
const lengthOf = (record: AuditRecord) => Buffer.byteLength(JSON.stringify({ ...record, at: new Date(record.at).toISOString() }))

const exchangeOf = (interaction: string, writes: number, text: string): Exchange => {
  const token = { client: text, subject: text, user: text, patient: text, scopes: [text, text], issuer: 'i' } as unknown as VerifiedToken
  const written = Array.from({ length: writes }, (_, i) => ({
    ...{ tenant: 't', type: TYPE, id: `${ID}${i}`.slice(-64), versionId: 1 },
    about: [`Patient/${`${ID}${i}`.slice(-64)}`],
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
    named: [],
    site: { reading: () => ({}) },
    fhir: { type: TYPE, id: ID, parameters: [], preconditions: {} },
    http: { path: interaction === 'token' ? '/auth/token' : '/', address: text },
  } as unknown as Exchange
}

const TEXTS = ['', 'a"\\'.repeat(9_000), '\u0000\ud800'.repeat(9_000), 'ä💊'.repeat(9_000)]

it.each(['bundle', 'update', 'token'])('no record of %s is longer than a record may be, whatever the token holds', (interaction) => {
  for (const text of TEXTS)
    for (const writes of [0, 1, 2, 5_000])
      for (const record of recordsOf(exchangeOf(interaction, writes, text)))
        expect(lengthOf(record)).toBeLessThanOrEqual(MAX_AUDIT_RECORD_BYTES)
})

it.each(['bundle', 'update', 'token'])(
  'the record of a usual %s fits into the room reserved for it, whatever the token holds',
  (interaction) => {
    for (const text of TEXTS)
      for (const writes of [0, 1, 2])
        expect(lengthOf(recordOf(exchangeOf(interaction, writes, text)))).toBeLessThanOrEqual(reservedBytesOf(interaction))
  },
)

it('further records continue a full one and repeat its other members', () => {
  const records = recordsOf(exchangeOf('bundle', 5_000, ''))
  const all = (field: 'keys' | 'patients') => records.flatMap((record) => record[field] ?? [])
  expect(new Set(all('keys')).size).toBe(5_000)
  expect(all('patients')).toEqual(all('keys').map((key) => key.replace(TYPE, 'Patient')))
  expect(records.length).toBeGreaterThan(10)
  const shared = {
    requestId: 'r'.repeat(128),
    tenant: 't'.repeat(64),
    interaction: 'bundle',
    written: 5_000,
    status: 200,
    outcome: 'temporarily_unavailable',
  }
  for (const [i, record] of records.entries()) expect(record).toMatchObject({ ...shared, part: i + 1, parts: records.length })
})

it('a record names the client as in the token, shortened beyond the usual length', () => {
  const record = recordOf(exchangeOf('read', 0, 'app@https://auth.example/ä'))
  expect(record).toMatchObject({ client: 'app@https://auth.example/ä', scopes: 'app@https://auth.example/ä app@https://auth.example/ä' })
  const long = recordOf(exchangeOf('read', 0, `app"${'x'.repeat(600)}`))
  expect(long.client).toMatch(/^app_x{491}\.\.\.$/)
})

it('a record names the resource of the URL, or the written ones and their number', () => {
  const keys = (interaction: string, writes: number) => {
    const { key, keys, written } = recordOf(exchangeOf(interaction, writes, ''))
    return { key, keys: keys?.length, written, first: keys?.[0] }
  }
  expect(keys('read', 0)).toEqual({ key: `${TYPE}/${ID}` })
  expect(keys('create', 1)).toEqual({ key: `${TYPE}/${`${ID}0`.slice(-64)}` })
  expect(keys('bundle', 0)).toEqual({})
  expect(keys('bundle', 2)).toEqual({ keys: 2, written: 2, first: `${TYPE}/${`${ID}0`.slice(-64)}` })
})

it('a record reports a transfer if a client receives data of the patient in context, by the token of a user', () => {
  const token = { client: 'app', subject: 'ann', patient: '1', scopes: [], issuer: 'i' } as unknown as VerifiedToken
  const transferOf = (more: Partial<VerifiedToken>, about = ['Patient/2', 'Patient/1'], status = 200) => {
    const exchange = { ...exchangeOf('read', 0, ''), token: { ...token, ...more }, about }
    return auditRecordsOf(exchange as Exchange, { ...ENDED, status }, RECORDER)[0].transfer
  }
  expect([transferOf({}), transferOf({}, ['Patient/1'], 299)]).toEqual([true, true])
  const { patient: _, ...withoutPatient } = token
  const others = [
    transferOf({ subject: 'app' }),
    transferOf({ actsForItself: true }),
    transferOf({ seenAs: 'app' }),
    transferOf({}, ['Patient/2']),
    transferOf({}, undefined, 304),
    auditRecordsOf({ ...exchangeOf('read', 0, ''), token: withoutPatient, about: ['Patient/1'] } as Exchange, ENDED, RECORDER)[0].transfer,
  ]
  expect(others).toEqual(others.map(() => undefined))
})

it('a record holds the client address for the authorization server only', () => {
  const of = (path: string) => recordOf({ ...exchangeOf('read', 0, ''), http: { path, address: '192.0.2.1' } } as unknown as Exchange)
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
  const fhir = { type: 'Observation', parameters: [...new URLSearchParams(query)], preconditions: {} }
  expect(recordOf({ ...exchangeOf('search-type', 0, ''), fhir } as unknown as Exchange).patients).toEqual(patients)
})

const queried = (query: string, type = 'Observation', interaction = 'search-type') => {
  const fhir = { type, parameters: [...new URLSearchParams(query)], preconditions: {} }
  return recordOf({ ...exchangeOf(interaction, 0, ''), fhir } as unknown as Exchange)
}

it('a record names the parameters that the server knows, each once, and no value', () => {
  const { parameters } = queried('code:text=Secret&code:text=2&subject:Patient.name=Secret&_has:Observation:patient:code=x&_sort=date')
  expect(parameters).toEqual(['code:text', 'subject:Patient.name', '_has:Observation:patient:code', '_sort'])
  const typed = queried('Secret&Jane%20Doe=1&code:Secret=1&name.Secret=1&__proto__=1&toString=1')
  expect([typed.parameters, JSON.stringify(typed).includes('Secret')]).toEqual([['?'], false])
  expect(queried('').parameters).toBeUndefined()
})

it('a record holds the same digest for the same query, in any order, and another for any other', () => {
  const digest = (query: string) => queried(query).queries!.join()
  expect(digest('code=1&status=2')).toMatch(/^[\w-]{22}$/)
  expect(digest('status=2&code=1')).toBe(digest('code=1&status=2'))
  expect(new Set(['code=1', 'code=2', 'status=1', 'code=1&code=1', 'code=1%26code%3D1'].map(digest)).size).toBe(5)
  const { queries } = auditRecordsOf(
    { ...exchangeOf('search-type', 0, ''), fhir: { parameters: [['code', '1']], preconditions: {} } } as unknown as Exchange,
    ENDED,
    queryRecorder(new AesSeal(new Uint8Array(32).fill(1))),
  )[0]
  expect(queries).not.toEqual([digest('code=1')])
})

it.each([
  ['create', { preconditions: { ifNoneExist: `a=1${'&a'.repeat(10_001)}` } }],
  ['everything', { resource: { resourceType: 'Parameters', parameter: [{ name: { toString: 1, valueOf: 1 }, valueString: 'Secret' }] } }],
] as const)('%s with refused criteria has a record', (interaction, sent) => {
  const fhir = { type: 'Patient', parameters: [], preconditions: {}, ...sent }
  const record = recordOf({ ...exchangeOf(interaction, 0, ''), fhir } as unknown as Exchange)
  expect([record.interaction, JSON.stringify(record).includes('Secret')]).toEqual([interaction, false])
})

it('a record of a read or of the authorization server holds no digest, the latter no parameter either', () => {
  expect(queried('_elements=id', 'Observation', 'read')).not.toHaveProperty('queries')
  const http = { path: '/auth/authorize' }
  const fhir = {
    parameters: [
      ['state', 'Secret'],
      ['patient', '1'],
    ],
  }
  const record = recordOf({ ...exchangeOf('authorize', 0, ''), http, fhir } as unknown as Exchange)
  expect(record).not.toHaveProperty('parameters')
  expect(record).not.toHaveProperty('patients')
})

it('the functions that answer by criteria hold the key of digests', () => {
  const codes = (Object.keys(INTERACTIONS) as InteractionCode[]).filter((code) => CRITERIA.has(columnOf(code)))
  expect(codes).toContain('search-type')
  for (const code of codes)
    expect([code, FUNCTIONS[functionOf(code) as HttpFunction].ports]).toEqual([code, expect.arrayContaining(['seal'])])
})
