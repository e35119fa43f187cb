/** Settings of what is recorded, exported and kept, and for how long. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from '@jest/globals'
import { makeStore } from '../../../lambdas/runtime/control/lost-files.ts'
import { assertionFormOf, createKeyPair, signAssertion } from '../../auth/assertions.ts'
import { newFolder } from '../../fixtures/at-end.ts'
import { eventually } from '../../fixtures/eventually.ts'
import { observation, patient, referenceTo } from '../../fixtures/resources.ts'
import type { TestClient, TestResponse, Tree } from '../server.ts'
import { auditRecordsOf, userFlow } from './access.ts'
import { clientCredentialsForm, delayFileWrites, type SettingsServer, type SettingTrial, withSettings } from './setting-server.ts'

const DAY = 24 * 60 * 60 * 1_000

/** Which of the audit files of so many days ago are there once a request was recorded. */
const auditRetentionTrial = async (value: string, expected: Readonly<Record<number, boolean>>): Promise<void> => {
  const folder = newFolder()
  await makeStore(folder)
  const fileOf = (days: number) => join(folder, 'audit', `${new Date(Date.now() - days * DAY).toISOString().slice(0, 10)}.jsonl`)
  mkdirSync(join(folder, 'audit'))
  for (const days of Object.keys(expected)) writeFileSync(fileOf(Number(days)), '')
  return withSettings(
    { FHIR_AUDIT_RETENTION_DAYS: value, FHIR_AUDIT_DURABILITY: 'strict' },
    async ({ get }) => {
      expect((await get('/Patient')).status).toBe(200)
      const existing = Object.keys(expected).map((days) => [days, existsSync(fileOf(Number(days)))])
      expect(Object.fromEntries(existing)).toEqual(expected)
    },
    { folder },
  )
}

export const retentionTrials: readonly SettingTrial[] = [
  ['1', 'records of three days ago are removed', (value) => auditRetentionTrial(value, { 0: true, 3: false })],
  ['90', 'records of 88 days are retained, those of 92 are removed', (value) => auditRetentionTrial(value, { 88: true, 92: false })],
  ['36500', 'records of a century are retained', (value) => auditRetentionTrial(value, { 36000: true, 36502: false })],
]

const withoutDisk = <Result>(work: () => Promise<Result>): Promise<Result> =>
  delayFileWrites(() => Promise.reject(Object.assign(new Error('EIO'), { code: 'EIO' })), work)

const withDurability = (value: string, proof: (server: SettingsServer) => Promise<void>): Promise<void> =>
  withSettings({ FHIR_AUDIT_DURABILITY: value }, proof)

const reads = (folder: string): number => auditRecordsOf(folder).filter(({ interaction }) => interaction === 'read').length

// biome-ignore format: a table
export const durabilityTrials: readonly SettingTrial[] = [
  ['batched', 'requests succeed while records cannot be written; these are written later', (value) =>
    withDurability(value, async ({ get, folder, reports }) => {
      expect(await withoutDisk(async () => {
        const { status } = await get('/Patient/nobody')
        await eventually(() => reports.length > 0)
        return status
      })).toBe(404)
      await eventually(() => reads(folder) > 0)
    })],
  ['strict', 'records are stored before the response, or the request fails', (value) =>
    withDurability(value, async ({ get, folder }) => {
      expect([(await get('/Patient/nobody')).status, reads(folder)]).toEqual([404, 1])
      // There may be room for one: its record says that there is none.
      const refused = await withoutDisk(async () => [(await get('/Patient/nobody')).status, (await get('/Patient/nobody')).status])
      expect(refused).toEqual([503, 503])
    })],
]

const KICK_OFF = { accept: 'application/fhir+json', prefer: 'respond-async' }

const begin = (client: TestClient, path = '/$export'): Promise<TestResponse> => client.get(path, KICK_OFF)

/** The manifest, once it is there. */
async function manifestOf(client: TestClient, { status, headers }: TestResponse): Promise<Tree> {
  expect(status).toBe(202)
  const isEnded = ({ status }: TestResponse): boolean => status !== 202
  return (await eventually(() => client.get(headers.get('content-location')!), { until: isEnded, every: 20 })).body
}

/** `Type/id` of all that an export brings. */
async function exportedFiles(server: SettingsServer, path: string): Promise<readonly string[]> {
  const { output } = await manifestOf(server, await begin(server, path))
  const files = await Promise.all(output.map(async ({ url }: Tree) => (await server.get(url)).text))
  return files
    .flatMap((text: string) => text.trim().split('\n'))
    .map((line) => JSON.parse(line))
    .map(({ resourceType, id }) => `${resourceType}/${id}`)
    .toSorted()
}

/** Status of a kick-off by a client with a secret, and by one that signs. */
const kickedOff = (value: string, expected: readonly number[]): Promise<void> =>
  withSettings({ FHIR_EXPORT_NEEDS_ASSERTION: value }, async ({ register, token, as }) => {
    const pair = await createKeyPair('ES384', 'k')
    const secret = await register('secret')
    await register('keys', { authentication: { kind: 'keys', keys: [pair.jwk] } })
    const signed = signAssertion(pair, 'keys', Date.now(), { claims: { aud: 'http://127.0.0.1/fhir/auth/token' } })
    const forms = [clientCredentialsForm('secret', secret), { ...assertionFormOf(signed), scope: 'system/*.rs' }]
    const tokens = await Promise.all(forms.map(async (form) => (await token(form)).body.access_token))
    expect(await Promise.all(tokens.map(async (each) => (await begin(as(each))).status))).toEqual(expected)
  })

export const assertionTrials: readonly SettingTrial[] = [
  ['on', 'a token obtained with a secret starts no export', (value) => kickedOff(value, [403, 202])],
  ['off', 'any token starts an export', (value) => kickedOff(value, [202, 202])],
]

const userKickOffTrial = (value: string, expected: number): Promise<void> =>
  withSettings({ FHIR_USER_EXPORTS: value, FHIR_EXPORT_NEEDS_ASSERTION: 'off' }, async (server) => {
    const { access_token } = await (await userFlow(server))({})
    expect((await begin(server.as(access_token))).status).toBe(expected)
  })

export const userExportTrials: readonly SettingTrial[] = [
  ['on', 'a token of a user starts an export', (value) => userKickOffTrial(value, 202)],
  ['off', 'a token of a user starts no export', (value) => userKickOffTrial(value, 403)],
]

export const runningTrials: readonly SettingTrial[] = [
  [
    '1',
    'the second concurrent export is 429 until the first has ended',
    (value) =>
      withSettings({ FHIR_MAX_RUNNING_EXPORTS: value }, async (server) => {
        const answers = await Promise.all(Array.from({ length: 5 }, () => begin(server)))
        const statuses = answers.map(({ status }) => status)
        expect(statuses).toContain(429)
        for (const answer of answers) if (answer.status === 202) await manifestOf(server, answer)
        expect((await begin(server)).status).toBe(202)
      }),
  ],
]

/** Whether the manifest is told so many days after the export. */
const statusTrial = (value: string, expected: readonly (readonly [days: number, status: number])[]): Promise<void> =>
  withSettings({ FHIR_EXPORT_RETENTION_DAYS: value }, async (server) => {
    const response = await begin(server)
    await manifestOf(server, response)
    for (const [days, status] of expected) {
      server.ahead = days * DAY
      const later = server.as(await server.embedded.issue({ isAdministrator: true }))
      expect([days, (await later.get(response.headers.get('content-location')!)).status]).toEqual([days, status])
    }
  })

export const jobRetentionTrials: readonly SettingTrial[] = [
  ['1', 'the status is available for a day', (value) => statusTrial(value, [[0.9, 200], [1.1, 404]])], // biome-ignore format: days
  ['10', 'the status is available for ten days', (value) => statusTrial(value, [[9.9, 200], [10.1, 404]])], // biome-ignore format: days
]

/** What is exported of a group of one patient with a practitioner, an Observation and a Basic of theirs. */
const groupTrial = (settings: Readonly<Record<string, string>>, expected: readonly string[]): Promise<void> =>
  withSettings(settings, async (server) => {
    const written = [
      { resourceType: 'Practitioner', id: 'd', active: true },
      patient('p', { generalPractitioner: [referenceTo('Practitioner/d')] }),
      observation('o', { subject: 'Patient/p' }),
      { resourceType: 'Basic', id: 'b', code: { text: 'x' }, subject: referenceTo('Patient/p') },
      { resourceType: 'Group', id: 'g', type: 'person', actual: true, member: [{ entity: referenceTo('Patient/p') }] },
    ]
    for (const resource of written) expect((await server.put(`/${resource.resourceType}/${resource.id}`, resource)).status).toBe(201)
    expect(await exportedFiles(server, '/Group/g/$export')).toEqual(expected)
  })

const withTypes = (value: string, ...expected: readonly string[]): Promise<void> =>
  groupTrial({ FHIR_GROUP_EXPORT_TYPES: value, FHIR_EXPORT_ADDITIONAL_RESOURCES: '{}' }, expected)

export const typesTrials: readonly SettingTrial[] = [
  ['Patient', 'Patients only', (value) => withTypes(value, 'Patient/p')],
  ['Patient,Basic', 'these types, and no others', (value) => withTypes(value, 'Basic/b', 'Patient/p')],
]

const PRACTITIONERS = JSON.stringify({
  Patient: [
    {
      ...{ allowedForGroupExport: true, allowedForPatientExport: false },
      ...{ path: '$.generalPractitioner[*].reference', resourceTypes: ['Practitioner'] },
    },
  ],
})

const coming = (value: string, ...expected: readonly string[]): Promise<void> =>
  groupTrial({ FHIR_EXPORT_ADDITIONAL_RESOURCES: value }, [...expected].toSorted())

// biome-ignore format: a table
export const additionalTrials: readonly SettingTrial[] = [
  ['', 'the built-in additional resources are exported', (value) => coming(value, 'Patient/p', 'Observation/o', 'Practitioner/d')],
  ['{}', 'no additional resources are exported', (value) => coming(value, 'Patient/p', 'Observation/o')],
  [PRACTITIONERS, 'what it says comes along', (value) => coming(value, 'Patient/p', 'Observation/o', 'Practitioner/d')],
  ['a file', 'the additional resources of the file are exported', () => {
    const file = join(newFolder(), 'additional.json')
    writeFileSync(file, '{}')
    return coming(file, 'Patient/p', 'Observation/o')
  }],
]
