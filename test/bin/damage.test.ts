/** A server with a disk that changed stored bytes: the log and the responses report the damage, and all other data is served. */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { newFolder } from '../fixtures/at-end.ts'
import { patient, type Tree } from '../fixtures/resources.ts'
import { type RunningServer, runFhir, startOpenServer } from './process.ts'

describe('A server with three damaged Patients in its store', () => {
  const data = newFolder()
  const file = join(data, 'store.db')
  let server: RunningServer
  const statusOf = async (...request: Sent) => (await send(server, ...request)).status

  beforeAll(async () => {
    const first = await startOpenServer('--data', data)
    for (const id of ['changed', 'rotten', 'doomed', 'sound'])
      await send(first, 'PUT', `Patient/${id}`, patient(id, { family: `Family-of-${id}` }))
    await first.stop()
    for (const end of ['-wal', '-shm']) rmSync(file + end, { force: true })
    const bytes = readFileSync(file)
    for (const id of ['changed', 'rotten', 'doomed']) bytes.write('A', bytes.indexOf(`Family-of-${id}`))
    writeFileSync(file, bytes)
    server = await startOpenServer('--data', data)
  })
  afterAll(() => server.stop())

  it('answers 500 for them, logs once per request, and serves all others', async () => {
    const damaged = await send(server, 'GET', 'Patient/changed', undefined, { 'x-request-id': 'read' })
    expect([damaged.status, JSON.stringify(damaged.body)]).toEqual([500, expect.stringContaining('The store is damaged')])
    expect(await statusOf('GET', 'Patient/sound')).toBe(200)
    expect((await send(server, 'GET', 'Patient?family=Family-of-sound')).body.total).toBe(1)
    const bundle = (type: string) => {
      const entry = [
        { request: { method: 'GET', url: 'Patient/changed' } },
        { request: { method: 'PUT', url: `Basic/${type}` }, resource: { resourceType: 'Basic', id: type, code: { text: 'x' } } },
        { request: { method: 'GET', url: 'Patient/sound' } },
      ]
      return send(server, 'POST', '', { resourceType: 'Bundle', type, entry }, { 'x-request-id': type })
    }
    const ofBatch = (await bundle('batch')).body.entry.map(({ response }: Tree) => response)
    expect(ofBatch.map(({ status }: Tree) => status)).toEqual(['500 Internal Server Error', '201 Created', '200 OK'])
    const issue = [{ severity: 'fatal', code: 'exception', details: expect.anything(), expression: ['Bundle.entry[0]'] }]
    expect(ofBatch[0].outcome.issue).toEqual(issue)
    expect(await bundle('transaction')).toMatchObject({ status: 500, body: { issue } })
    expect(await statusOf('GET', 'Basic/transaction')).toBe(404)
    const told = server
      .err()
      .split('\n')
      .map((line) => line.replace(/^\S+ /, ''))
      .filter((line) => line.includes('damaged') && !line.startsWith('request rotten:'))
    const tells = (id: string) => expect.stringMatching(`^request ${id}: the store is damaged: [a-z ]+$`)
    expect(told).toEqual(['read', 'batch', 'transaction'].map(tells))
  })

  it('creates no backup', async () => {
    const copy = join(newFolder(), 'backup.db')
    expect(await runFhir('backup', copy, '--data', data)).toMatchObject({ code: 1, err: `fhir: ${file} is damaged: no backup was made\n` })
    expect(existsSync(copy)).toBe(false)
  })

  it('allows the update of a damaged Patient, but no patch; the old version stays damaged', async () => {
    expect(await statusOf('POST', 'Patient', patient('rotten'))).toBe(409)
    // Another test expects the other lines about damage.
    const id = { 'x-request-id': 'rotten' }
    const patched = await send(server, 'PATCH', 'Patient/rotten', [{ op: 'add', path: '/active', value: true }], id)
    expect([patched.status, JSON.stringify(patched.body)]).toEqual([500, expect.stringContaining('The store is damaged')])
    expect(await statusOf('PUT', 'Patient/rotten', patient('rotten'), { 'if-match': 'W/"2"' })).toBe(412)
    const replaced = await send(server, 'PUT', 'Patient/rotten', patient('rotten', { family: 'Anew' }), { 'if-match': 'W/"1"' })
    expect(replaced).toMatchObject({ status: 200, body: { meta: { versionId: '2' } } })
    expect((await send(server, 'GET', 'Patient?family=Anew')).body.total).toBe(1)
    for (const path of ['_history/1', '_history']) expect(await statusOf('GET', `Patient/rotten/${path}`, undefined, id)).toBe(500)
  })

  it('allows the deletion of a damaged Patient, also in a transaction', async () => {
    const entry = [{ request: { method: 'DELETE', url: 'Patient/doomed' } }]
    expect(await statusOf('POST', '', { resourceType: 'Bundle', type: 'transaction', entry })).toBe(200)
    expect(await statusOf('GET', 'Patient/doomed')).toBe(404)
  })
})

type Sent = readonly [method: string, path: string, body?: object, headers?: Readonly<Record<string, string>>]

async function send(
  { base }: RunningServer,
  ...[method, path, body, headers]: Sent
): Promise<{ readonly status: number; readonly body: Tree }> {
  const type = Array.isArray(body) ? 'application/json-patch+json' : 'application/fhir+json'
  const response = await fetch(`${base}/${path}`, {
    method,
    headers: { 'content-type': type, ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return { status: response.status, body: await response.json() }
}
