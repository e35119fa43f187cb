/** `fhir export --sigv4` signs each request for the server it is sent to, and sends no credentials to another server. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from '@jest/globals'
import { newFolder } from '../../fixtures/at-end.ts'
import {
  AWS_CREDENTIALS,
  isSigned,
  type PreparedResponse,
  type ReceivedRequest,
  startRecordingServer,
} from '../../fixtures/recording-server.ts'
import { runFhirWithEnvironment } from '../process.ts'

const PATIENT = '{"resourceType":"Patient","id":"1"}\n'
const REFUSED: PreparedResponse = { status: 403 }

/** Starts a stage that accepts only signed requests. `files`: base URL of its export files. */
const stageThat = (files: string, more: (got: ReceivedRequest) => PreparedResponse | undefined = () => undefined) =>
  startRecordingServer((got): PreparedResponse => {
    if (!isSigned(got)) return REFUSED
    const told = more(got)
    if (told !== undefined) return told
    if (got.url.includes('$export')) return { status: 202, headers: { 'content-location': `http://${got.headers.host}/fhir/export/1` } }
    const output = [{ type: 'Patient', url: `${files}/Patient.ndjson`, count: 1 }]
    const told200 = { transactionTime: '2026-11-22T10:00:00.000Z', request: '', requiresAccessToken: true, output, error: [] }
    return got.method === 'DELETE' ? { status: 202 } : { status: 200, body: JSON.stringify(told200) }
  })

const environment = {
  ...process.env,
  ...{ AWS_ACCESS_KEY_ID: AWS_CREDENTIALS.accessKeyId, AWS_SECRET_ACCESS_KEY: AWS_CREDENTIALS.secretAccessKey },
  ...{ AWS_SESSION_TOKEN: AWS_CREDENTIALS.sessionToken, AWS_REGION: 'eu-central-1' },
}
const exporting = (from: string, folder: string, ...more: readonly string[]) =>
  runFhirWithEnvironment(environment, 'export', '--from', from, '--to', folder, '--sigv4', ...more)

it('signs requests with query and with body, and sends no credentials to file servers', async () => {
  const files = await startRecordingServer(() => ({ status: 200, body: PATIENT }))
  const { all, base } = await stageThat(files.base)
  for (const more of [
    ['--type', 'Patient'],
    ['--patient', '1'],
  ]) {
    const folder = newFolder()
    expect(await exporting(base, folder, ...more)).toMatchObject({ code: 0 })
    expect(readFileSync(join(folder, 'Patient.ndjson'), 'utf8')).toBe(PATIENT)
  }
  expect(all.map(({ method }) => method)).toEqual(expect.arrayContaining(['GET', 'POST']))
  expect(all.every(({ headers }) => headers['x-amz-security-token'] === AWS_CREDENTIALS.sessionToken)).toBe(true)
  expect(files.all).toHaveLength(2)
  for (const { headers } of files.all) expect([headers.authorization, headers['x-amz-security-token']]).toEqual([undefined, undefined])
})

it('does not follow a redirect to another address', async () => {
  const other = await startRecordingServer(() => ({ status: 200 }))
  const { base } = await stageThat(other.base, ({ url }) =>
    url.includes('$export') ? { status: 307, headers: { location: `${other.base}/$export` } } : undefined,
  )
  expect(await exporting(base, newFolder())).toMatchObject({ code: 3, err: expect.stringContaining('307') })
  expect(other.all).toEqual([])
})

it.each([
  ['--client', 'a'],
  ['--tenant', 'a'],
  ['--key', 'a.json'],
])('cannot be combined with %s %s', async (...more) =>
  expect(await exporting('http://127.0.0.1:1/fhir', newFolder(), ...more)).toMatchObject({ code: 2 }),
)
